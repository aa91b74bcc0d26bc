# One test program a layer from the *_test.cpp beside the sources, and one from tests/ for what spans layers.
# Programs that run kernels are run once a device: the CPU, and software Vulkan through each WebGPU library (ATHANOR_TEST_DEVICE).
find_package(GTest 1.12 REQUIRED)

set(mesa "${ATHANOR_DEPS}/mesa/lavapipe_icd.json")
set(libraries "${ATHANOR_DEPS}/webgpu/lib")

# Tests ask for more memory than there is; the sanitizers are to refuse it as the system does, not to end the program.
set(sanitizer_options "")
if(ATHANOR_SANITIZE)
  set(sanitizer_options ";ASAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1")
endif()

function(athanor_test_program name layer)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/tests" "${CMAKE_BINARY_DIR}/generated")
  target_link_libraries(${name} PRIVATE athanor_${layer} GTest::gtest GTest::gmock GTest::gtest_main athanor_openblas)
  target_compile_definitions(${name} PRIVATE ATHANOR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_precompile_headers(${name} PRIVATE <gtest/gtest.h> <fmt/format.h>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

# Plain: one ctest entry. Devices: one entry a device.
function(athanor_add_test name program)
  add_test(NAME ${name} COMMAND ${program} ${ARGN} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 1500 ENVIRONMENT "ATHANOR_TEST_DEVICE=cpu${sanitizer_options}")
endfunction()
function(athanor_add_device_tests name program)
  athanor_add_test(${name}.cpu ${program} ${ARGN})
  foreach(runtime wgpu_native webgpu_dawn)
    add_test(NAME ${name}.${runtime} COMMAND ${program} ${ARGN} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
    set_tests_properties(${name}.${runtime} PROPERTIES TIMEOUT 3000 ENVIRONMENT
      "ATHANOR_TEST_DEVICE=webgpu;ATHANOR_WEBGPU_LIBRARY=${libraries}/lib${runtime}.so;VK_DRIVER_FILES=${mesa}${sanitizer_options}")
  endforeach()
endfunction()

foreach(layer base device kernels tensor nn data generate train cli)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${layer}/*_test.cpp")
  if(tests)
    athanor_test_program(${layer}_test ${layer} ${tests})
    if(layer MATCHES "^(device|kernels|tensor|nn|generate|train)$")
      athanor_add_device_tests(${layer} ${layer}_test)
    else()
      athanor_add_test(${layer} ${layer}_test)
    endif()
  endif()
endforeach()

# Passes over the short cases, as doctor runs them: with the WebGPU implementation's bounds checks on, and on a device with WebGPU's
# default limits, which every portable form must fit.
foreach(runtime wgpu_native webgpu_dawn)
  add_test(NAME kernels_default_limits.${runtime} COMMAND kernels_test "--gtest_filter=All/KernelCases.*" WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties(kernels_default_limits.${runtime} PROPERTIES TIMEOUT 1500 ENVIRONMENT
    "ATHANOR_TEST_DEVICE=webgpu;ATHANOR_TEST_DEFAULT_LIMITS=1;ATHANOR_TEST_SHORT=1;ATHANOR_WEBGPU_LIBRARY=${libraries}/lib${runtime}.so;VK_DRIVER_FILES=${mesa}")
  add_test(NAME kernels_checked.${runtime} COMMAND kernels_test "--gtest_filter=All/KernelCases.*" WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties(kernels_checked.${runtime} PROPERTIES TIMEOUT 1500 ENVIRONMENT
    "ATHANOR_TEST_DEVICE=webgpu;ATHANOR_TEST_CHECKED=1;ATHANOR_TEST_SHORT=1;ATHANOR_WEBGPU_LIBRARY=${libraries}/lib${runtime}.so;VK_DRIVER_FILES=${mesa}")
endforeach()

# Slow: ctest -LE slow leaves them out.
foreach(runtime wgpu_native webgpu_dawn)
  add_test(NAME kernels_units_in_loops.${runtime} COMMAND kernels_test "--gtest_filter=*MatMulUnitsInLoops*" WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties(kernels_units_in_loops.${runtime} PROPERTIES LABELS slow TIMEOUT 3600 ENVIRONMENT
    "ATHANOR_TEST_DEVICE=webgpu;ATHANOR_TEST_SLOW=1;ATHANOR_WEBGPU_LIBRARY=${libraries}/lib${runtime}.so;VK_DRIVER_FILES=${mesa}")
endforeach()

add_test(NAME layers COMMAND "${CMAKE_SOURCE_DIR}/tools/check_layers" WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
include("${CMAKE_SOURCE_DIR}/tests/tests.cmake" OPTIONAL)

# Beside other programs, what has a bound on time would fail for no fault of ours.
set_tests_properties(data PROPERTIES RUN_SERIAL ON)
