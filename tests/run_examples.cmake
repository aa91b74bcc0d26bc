# cmake -DSOURCE=<repository> -DBUILD=<build folder> ... -P run_examples.cmake: installs the library into a folder under the build folder,
# looks at its headers, builds and runs examples/ against it, and removes the folder.
set(work "${BUILD}/examples_test")
set(prefix "${work}/installed")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command} failed (${result}):\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${work}")
foreach(component libraries development)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" --component ${component})
endforeach()

# Each header finds what it includes among the installed ones; beyond these, the standard library's and fmt/core.h there is nothing.
file(GLOB_RECURSE headers "${prefix}/include/athanor/*.h")
list(LENGTH headers count)
if(count LESS 40)
  message(FATAL_ERROR "only ${count} headers were installed")
endif()
foreach(header ${headers})
  file(STRINGS "${header}" includes REGEX "^#include")
  foreach(line ${includes})
    if(line MATCHES "\"(.*)\"")
      if(NOT EXISTS "${prefix}/include/athanor/${CMAKE_MATCH_1}")
        message(FATAL_ERROR "${header} includes ${CMAKE_MATCH_1}, which is not installed")
      endif()
    elseif(NOT line MATCHES "<([a-z_0-9]+|fmt/core\\.h)>")
      message(FATAL_ERROR "${header} brings in another library: ${line}")
    endif()
  endforeach()
endforeach()

run("${CMAKE_COMMAND}" -S "${SOURCE}/examples" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Release
  "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${work}/build" --output-on-failure)
file(REMOVE_RECURSE "${work}")
