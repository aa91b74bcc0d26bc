# src/base for Windows: compiled and linked by mingw-w64 in a project of its own, rebuilt only where something changed.
find_program(MINGW_CXX x86_64-w64-mingw32-g++-posix)
if(MINGW_CXX)
  add_test(NAME mingw.base_compiles_for_windows COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test "${CMAKE_SOURCE_DIR}/tests/mingw" "${CMAKE_BINARY_DIR}/mingw"
    --build-generator Ninja --build-makeprogram "${CMAKE_MAKE_PROGRAM}"
    --build-options "-DCMAKE_TOOLCHAIN_FILE=${CMAKE_SOURCE_DIR}/tests/mingw/toolchain.cmake" "-DCMAKE_BUILD_TYPE=Debug")
  set_tests_properties(mingw.base_compiles_for_windows PROPERTIES TIMEOUT 600)
else()
  message(STATUS "x86_64-w64-mingw32-g++-posix not found: no test of the Windows part of src/base")
endif()
