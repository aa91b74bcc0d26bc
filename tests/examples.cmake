# The library as installed: examples/ is built against it in a folder of its own and run. With a sanitizer every program that links the
# library needs the sanitizer's flags, which is no use of it that a user has.
if(NOT ATHANOR_SANITIZE)
  add_test(NAME examples COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
    -DCOMPILER=${CMAKE_CXX_COMPILER} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -P "${CMAKE_SOURCE_DIR}/tests/run_examples.cmake")
  set_tests_properties(examples PROPERTIES TIMEOUT 1500)
endif()
