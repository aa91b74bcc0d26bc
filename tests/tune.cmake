# `athanor tune` and the tables of choices in runs, through both WebGPU libraries.
find_package(Python3 COMPONENTS Interpreter REQUIRED)

foreach(library wgpu_native webgpu_dawn)
  add_test(NAME tune.${library} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/tune.py"
    --athanor $<TARGET_FILE:athanor> --deps "${ATHANOR_DEPS}" --library ${library})
  set_tests_properties(tune.${library} PROPERTIES TIMEOUT 1500)
endforeach()
