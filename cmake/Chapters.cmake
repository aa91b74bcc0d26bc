# docs/kernels.md is joined from the chapters beside the kernels. The build makes it under the build folder, from where it is installed;
# the copy in docs/ is for readers of the repository, and a test keeps it equal.
file(GLOB chapters CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/kernels/*/*.md")
set(joined "${CMAKE_BINARY_DIR}/docs/kernels.md")
add_custom_command(OUTPUT "${joined}"
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${joined} -P "${CMAKE_SOURCE_DIR}/cmake/JoinChapters.cmake"
  DEPENDS ${chapters} "${CMAKE_SOURCE_DIR}/src/kernels/chapters.md" "${CMAKE_SOURCE_DIR}/cmake/JoinChapters.cmake" VERBATIM)
add_custom_target(chapters ALL DEPENDS "${joined}")
install(FILES "${joined}" DESTINATION share/doc/athanor)

if(ATHANOR_TESTS)
  # To renew: cp build/release/docs/kernels.md docs/kernels.md
  add_test(NAME docs.kernels_are_joined COMMAND ${CMAKE_COMMAND} -E compare_files "${joined}" "${CMAKE_SOURCE_DIR}/docs/kernels.md")
endif()
