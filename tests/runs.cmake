# Training runs through the program: repeated, stopped and resumed, on the CPU and through both WebGPU libraries.
find_package(Python3 COMPONENTS Interpreter REQUIRED)

function(athanor_runs_test name)
  add_test(NAME runs.${name} COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/runs.py"
    --athanor $<TARGET_FILE:athanor> --deps "${ATHANOR_DEPS}" ${ARGN})
  set_tests_properties(runs.${name} PROPERTIES TIMEOUT 1500)
endfunction()

athanor_runs_test(repeat_on_the_cpu --part cpu)
athanor_runs_test(go_on_where_they_stopped --part stop)
athanor_runs_test(are_killed_at_named_points --part kills)
add_test(NAME runs.are_guarded COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/guarded_runs.py" --athanor $<TARGET_FILE:athanor>)
set_tests_properties(runs.are_guarded PROPERTIES TIMEOUT 1500)
foreach(library wgpu_native webgpu_dawn)
  athanor_runs_test(agree_with_the_cpu.${library} --part webgpu --library ${library})
  # Slow: ctest -LE slow leaves them out.
  athanor_runs_test(ten_long_ones_are_equal.${library} --part long --library ${library})
  set_tests_properties(runs.ten_long_ones_are_equal.${library} PROPERTIES LABELS slow TIMEOUT 3600)
endforeach()
