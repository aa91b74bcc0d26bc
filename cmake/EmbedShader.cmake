# cmake -DSHADER=a.wgsl -DSTEM=a -DOUT=a_wgsl.cpp -P EmbedShader.cmake: the shader's text as a C++ constant.
file(READ "${SHADER}" text)
file(WRITE "${OUT}" "// Generated from ${STEM}.wgsl.
#include \"kernels/wgsl/${STEM}.h\"
namespace athanor::kernels {
const device::webgpu::ShaderSource ${STEM}_wgsl{\"${STEM}\", R\"wgsl(${text})wgsl\"};
}
")
