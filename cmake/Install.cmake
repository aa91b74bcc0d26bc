# Three components. program and libraries: bin/athanor with lib/athanor/ beside it, found through $ORIGIN: carried to a bare machine, it
# runs. development: what find_package(athanor) needs, headers, archives and CMake's files.
include(GNUInstallDirs)
set_target_properties(athanor PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/athanor")
install(TARGETS athanor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES "${ATHANOR_DEPS}/openblas/scipy_openblas32/lib/libscipy_openblas.so" DESTINATION lib/athanor COMPONENT libraries)
file(GLOB webgpu_libraries CONFIGURE_DEPENDS "${ATHANOR_DEPS}/webgpu/lib/*.so")
install(FILES ${webgpu_libraries} DESTINATION lib/athanor COMPONENT libraries)
install(DIRECTORY "${ATHANOR_DEPS}/licenses" DESTINATION share/athanor COMPONENT libraries OPTIONAL)
install(FILES LICENSE DESTINATION share/athanor COMPONENT libraries OPTIONAL)

set(ATHANOR_ARCHIVES base device kernels tensor nn data generate train)
list(TRANSFORM ATHANOR_ARCHIVES PREPEND athanor_ OUTPUT_VARIABLE archives)
install(TARGETS ${archives} ARCHIVE DESTINATION lib/athanor COMPONENT development)

# Public headers: those of each layer's own folder, and of a kernel NAME/NAME.h. What a kernel needs inside, what names WebGPU or the
# worker threads, and what only tests include stays here.
set(src "${CMAKE_SOURCE_DIR}/src")
set(headers train/adamw.h train/optimizer.h)  # what a training loop of one's own needs
foreach(layer base device tensor nn data generate)
  file(GLOB found RELATIVE "${src}" CONFIGURE_DEPENDS "${src}/${layer}/*.h")
  list(APPEND headers ${found})
endforeach()
list(FILTER headers EXCLUDE REGEX "base/(expect_error|test_folder|windows_api)\\.h|/test_|tensor/op_parts\\.h")
file(GLOB kernel_headers RELATIVE "${src}" CONFIGURE_DEPENDS "${src}/kernels/*/*.h" "${src}/kernels/accumulate.h")
foreach(header ${kernel_headers})
  get_filename_component(folder "${header}" DIRECTORY)
  get_filename_component(folder "${folder}" NAME)
  get_filename_component(stem "${header}" NAME_WE)
  # affine_layout.h is part of two doors.
  if((stem STREQUAL folder AND NOT stem STREQUAL "broadcast") OR stem MATCHES "^(accumulate|affine_layout|matmul_precision)$")
    list(APPEND headers "${header}")
  endif()
endforeach()
foreach(header ${headers})
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${src}/${header}" DESTINATION "include/athanor/${folder}" COMPONENT development)
endforeach()

include(CMakePackageConfigHelpers)
get_property(ATHANOR_EXTERNAL_ARCHIVES GLOBAL PROPERTY ATHANOR_EXTERNAL_ARCHIVES)
string(REPLACE ";" " " ATHANOR_EXTERNAL_ARCHIVES "${ATHANOR_EXTERNAL_ARCHIVES}")
string(REPLACE ";" " " ATHANOR_ARCHIVES "${ATHANOR_ARCHIVES}")
configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/athanorConfig.cmake.in" "${CMAKE_BINARY_DIR}/athanorConfig.cmake"
  INSTALL_DESTINATION lib/cmake/athanor)
# No promise of a stable ABI before 1.0: another minor version is another library.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/athanorConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/athanorConfig.cmake" "${CMAKE_BINARY_DIR}/athanorConfigVersion.cmake"
  DESTINATION lib/cmake/athanor COMPONENT development)
