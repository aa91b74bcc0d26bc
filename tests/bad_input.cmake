# Bad input of every kind through the program: exit code, message, and nothing left behind.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME bad_input COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/bad_input.py"
  --athanor $<TARGET_FILE:athanor> --deps "${ATHANOR_DEPS}")
set_tests_properties(bad_input PROPERTIES TIMEOUT 900)
