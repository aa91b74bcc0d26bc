# Our tokenizer against the PyPI package tokenizers: ids from our file for every split, and training on the plays.
set(judge_python "${ATHANOR_DEPS}/venv/bin/python")
if(EXISTS "${judge_python}" AND EXISTS "${ATHANOR_DEPS}/shakespeare")
  add_test(NAME tokenizer.agrees_with_tokenizers COMMAND "${judge_python}" "${CMAKE_CURRENT_LIST_DIR}/tokenizer_judge.py"
    --athanor $<TARGET_FILE:athanor> --plays "${ATHANOR_DEPS}/shakespeare")
  set_tests_properties(tokenizer.agrees_with_tokenizers PROPERTIES TIMEOUT 900)
else()
  message(STATUS "${judge_python} or the plays not found: the tokenizer is not compared with the tokenizers package")
endif()
