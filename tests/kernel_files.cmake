# The listing of kernels, and users' shaders in the place of ours, through both WebGPU libraries; the portable matrix products in a
# program of their own.
find_package(Python3 COMPONENTS Interpreter REQUIRED)

foreach(library wgpu_native webgpu_dawn)
  add_test(NAME kernel_files.${library} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/kernel_files.py"
    --athanor $<TARGET_FILE:athanor> --deps "${ATHANOR_DEPS}" --library ${library})
  set_tests_properties(kernel_files.${library} PROPERTIES TIMEOUT 1500)
endforeach()

add_test(NAME judges.portable_kernels COMMAND "${ATHANOR_DEPS}/venv/bin/python" "${CMAKE_CURRENT_LIST_DIR}/portable_kernels.py"
  --athanor $<TARGET_FILE:athanor>)
set_tests_properties(judges.portable_kernels PROPERTIES TIMEOUT 600 ENVIRONMENT "VK_DRIVER_FILES=${ATHANOR_DEPS}/mesa/lavapipe_icd.json")
