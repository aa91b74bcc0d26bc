# What spans layers and what is no GoogleTest program; each subject has its own file.
include(${CMAKE_CURRENT_LIST_DIR}/house.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/mingw.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/tokenizer.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/judges.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/bad_input.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/runs.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/kernel_files.cmake OPTIONAL)
include(${CMAKE_CURRENT_LIST_DIR}/watching.cmake OPTIONAL)
