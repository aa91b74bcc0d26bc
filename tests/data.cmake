# Data through the program: memory, packing, mixing, the verdict.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME data_through_the_program COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/data.py"
  --athanor $<TARGET_FILE:athanor> --deps "${ATHANOR_DEPS}")
set_tests_properties(data_through_the_program PROPERTIES TIMEOUT 600 RUN_SERIAL ON)
