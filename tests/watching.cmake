# What a run tells about itself: TensorBoard's reader, samples, traces, eval, plan and show through the program.
set(judge_python "${ATHANOR_DEPS}/venv/bin/python")
if(EXISTS "${judge_python}")
  add_test(NAME judges.watching COMMAND "${judge_python}" "${CMAKE_CURRENT_LIST_DIR}/watching_judge.py"
    --athanor $<TARGET_FILE:athanor>)
  set_tests_properties(judges.watching PROPERTIES TIMEOUT 600)
endif()
