# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)
include(GNUInstallDirs)

# Warnings that every target of ours is compiled with.
add_library(foretrain_warnings INTERFACE)
target_compile_options(foretrain_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor
  # gcc 12 sees overlapping copies in std::string's operator+ at -O3 (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${FORETRAIN_WERROR}>:-Werror>)

# foretrain_module(NAME HEADERS ... SOURCES ... PUBLIC ... PRIVATE ...)
# A static library foretrain_NAME whose headers are included as "NAME/header.hpp".
function(foretrain_module name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(foretrain_${name} STATIC ${ARG_SOURCES})
  add_library(foretrain::${name} ALIAS foretrain_${name})
  target_sources(foretrain_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_compile_features(foretrain_${name} PUBLIC cxx_std_20)
  target_link_libraries(foretrain_${name} PUBLIC ${ARG_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:foretrain_warnings> ${ARG_PRIVATE})
endfunction()
