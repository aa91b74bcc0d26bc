# What athanor saves is read by mlx-lm, tokenizers and safetensors, which do the same with it.
set(judge_python "${ATHANOR_DEPS}/venv/bin/python")
if(EXISTS "${judge_python}")
  add_executable(logits_dump "${CMAKE_CURRENT_LIST_DIR}/logits_dump.cpp")
  target_include_directories(logits_dump PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(logits_dump PRIVATE athanor_generate)
  set_target_properties(logits_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME judges.mlx_lm COMMAND "${judge_python}" "${CMAKE_CURRENT_LIST_DIR}/mlx_judge.py"
    --athanor $<TARGET_FILE:athanor> --logits $<TARGET_FILE:logits_dump>)
  set_tests_properties(judges.mlx_lm PROPERTIES TIMEOUT 600)
else()
  message(STATUS "${judge_python} not found: no other program reads what athanor saves")
endif()
