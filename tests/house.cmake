# The tree's own rules: the check of layers finds planted faults, every file is formatted, the scripts refuse what they do not know.
add_test(NAME layers.self_test COMMAND "${CMAKE_SOURCE_DIR}/tools/check_layers" --self-test)
if(EXISTS "${ATHANOR_DEPS}/venv/bin/clang-format")
  add_test(NAME format COMMAND "${CMAKE_SOURCE_DIR}/scripts/format.sh" --check)
endif()
foreach(script setup demo format uninstall)
  add_test(NAME scripts.${script}_refuses_an_unknown_option COMMAND "${CMAKE_SOURCE_DIR}/scripts/${script}.sh" --no-such-option)
  set_tests_properties(scripts.${script}_refuses_an_unknown_option PROPERTIES
    PASS_REGULAR_EXPRESSION "error: ${script}.sh: unknown option --no-such-option")
endforeach()
