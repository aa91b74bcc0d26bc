# Flags for all of our own code. Baseline x86-64-v2; hot loops are cloned for AVX2 and AVX-512 (src/device/cpu/simd.h).
add_library(athanor_flags INTERFACE)
target_compile_options(athanor_flags INTERFACE -Wall -Wextra -Wno-psabi)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(athanor_flags INTERFACE -march=x86-64-v2)
endif()
# Float rules: no errno and no traps, so that loops vectorise; NaN and infinity keep their meaning; no fused
# multiply-add behind our back except in the clones, where it is wanted. -fopenmp-simd reads "#pragma omp simd" alone.
target_compile_options(athanor_flags INTERFACE -fno-math-errno -fno-trapping-math -fopenmp-simd)

if(ATHANOR_SANITIZE STREQUAL "address")
  target_compile_options(athanor_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(athanor_flags INTERFACE -fsanitize=address,undefined)
elseif(ATHANOR_SANITIZE STREQUAL "thread")
  target_compile_options(athanor_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(athanor_flags INTERFACE -fsanitize=thread)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()
