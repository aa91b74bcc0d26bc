# Libraries by package name. From apt: least versions below. From PyPI wheels unpacked by scripts/setup.sh: build/deps.
find_package(Threads REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(fmt 9.1 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.42)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib>=1.2.13)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.5.4)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)

set(openblas "${ATHANOR_DEPS}/openblas/scipy_openblas32")
set(webgpu "${ATHANOR_DEPS}/webgpu")
foreach(needed "${openblas}/lib/libscipy_openblas.so" "${webgpu}/include/webgpu/webgpu.h")
  if(NOT EXISTS "${needed}")
    message(FATAL_ERROR "${needed} is missing; run ./scripts/setup.sh first, or point -DATHANOR_DEPS at what it fetched")
  endif()
endforeach()

add_library(athanor_openblas SHARED IMPORTED GLOBAL)
set_target_properties(athanor_openblas PROPERTIES
  IMPORTED_LOCATION "${openblas}/lib/libscipy_openblas.so"
  INTERFACE_INCLUDE_DIRECTORIES "${openblas}/include")

# Only the header: the implementation is a shared library found at run time.
add_library(athanor_webgpu_header INTERFACE)
target_include_directories(athanor_webgpu_header SYSTEM INTERFACE "${webgpu}/include")

# Static archives where the distribution has them, so that a build can be carried to a machine without packages.
function(athanor_static_or_shared name archive fallback)
  set_property(GLOBAL APPEND PROPERTY ATHANOR_EXTERNAL_ARCHIVES ${archive})  # athanorConfig.cmake finds them again
  find_library(${name}_ARCHIVE NAMES ${archive})
  if(${name}_ARCHIVE)
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${${name}_ARCHIVE}")
  else()
    add_library(${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${name} INTERFACE ${fallback})
  endif()
endfunction()
athanor_static_or_shared(athanor_pcre2 libpcre2-8.a PkgConfig::PCRE2)
athanor_static_or_shared(athanor_zlib libz.a PkgConfig::ZLIB)
athanor_static_or_shared(athanor_zstd libzstd.a PkgConfig::ZSTD)
athanor_static_or_shared(athanor_yaml libyaml-cpp.a yaml-cpp)
