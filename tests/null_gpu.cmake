# Every shader through the compiler of AMD's open driver, without a GPU: a family of 2016, which has no matrix units, and one that has.
find_library(radv vulkan_radeon PATHS "${ATHANOR_DEPS}/mesa/usr/lib/x86_64-linux-gnu" NO_CACHE)
if(radv)
  enable_language(C)
  add_library(null_gpu MODULE "${CMAKE_CURRENT_LIST_DIR}/null_gpu/null_gpu.c")
  set_target_properties(null_gpu PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" PREFIX "" C_STANDARD 11)
  target_link_libraries(null_gpu PRIVATE ${CMAKE_DL_LIBS})
  file(WRITE "${CMAKE_BINARY_DIR}/tests/null_gpu_icd.json"
    "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"api_version\": \"1.3.0\", \"library_path\": \"${CMAKE_BINARY_DIR}/tests/null_gpu.so\"}}\n")
  athanor_test_program(null_gpu_test kernels "${CMAKE_CURRENT_LIST_DIR}/null_gpu/null_gpu_test.cpp")
  add_dependencies(null_gpu_test null_gpu)
  foreach(family polaris10 navi31)
    add_test(NAME null_gpu.${family} COMMAND null_gpu_test)
    set_tests_properties(null_gpu.${family} PROPERTIES TIMEOUT 600 ENVIRONMENT
      "RADV_FORCE_FAMILY=${family};ATHANOR_NULL_GPU_DRIVER=${radv};ATHANOR_WEBGPU_LIBRARY=${libraries}/libwebgpu_dawn.so;VK_DRIVER_FILES=${CMAKE_BINARY_DIR}/tests/null_gpu_icd.json;NODEVICE_SELECT=1;MESA_SHADER_CACHE_DISABLE=1")
  endforeach()
else()
  message(STATUS "libvulkan_radeon.so not found: no shader is compiled for AMD's GPUs here")
endif()
