# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)
include(GNUInstallDirs)

# a * b + c rounds twice on every processor, so that forecasts are the same to the last bits whether
# or not it has fused multiply-add (aarch64 always has; gcc contracts there by default).
add_compile_options(-ffp-contract=off)

# Where a build lies must not show in what it makes: -ffile-prefix-map for asserts and debug
# information, installed paths where a build tree's would be compiled in.
if(FORETRAIN_REPRODUCIBLE)
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
                      -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
endif()

# Warnings that every target of ours is compiled with.
add_library(foretrain_warnings INTERFACE)
target_compile_options(foretrain_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor
  # gcc 12 sees overlapping copies in std::string's operator+ at -O3 (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${FORETRAIN_WERROR}>:-Werror>)

# foretrain_cold(TARGET): what a target does is never hot, between the models and a reader; at -Og it
# compiles in two thirds of the time of -O3.
function(foretrain_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

# A compiler cache keeps nothing of what reads a precompiled header unless it is told to.
option(FORETRAIN_PRECOMPILE "Precompile headers of libraries: a build from nothing takes less" OFF)

# foretrain_precompile(TARGET): its sources read headers of libraries compiled.
function(foretrain_precompile target)
  if(FORETRAIN_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
  endif()
endfunction()

# foretrain_relocatable(TARGET FOLDER): in the build tree it looks for libraries in this folder beside
# itself first, where packaging/portable.py puts those that a system may lack. An installation and
# Debian's packages have no such path. RPATH, not RUNPATH: it holds for what those libraries load, too.
function(foretrain_relocatable target folder)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/${folder}")
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
endfunction()

# NAME/version.hpp, where the module has one, made from version.hpp.in.
function(foretrain_version_header name)
  set(files "")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/version.hpp.in)
    set(files ${PROJECT_BINARY_DIR}/generated/${name}/version.hpp)
    configure_file(version.hpp.in ${files} @ONLY)
  endif()
  target_sources(foretrain_${name} PUBLIC FILE_SET generated TYPE HEADERS
    BASE_DIRS ${PROJECT_BINARY_DIR}/generated FILES ${files})
endfunction()

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
  # Used as foretrain::NAME, with headers as "NAME/header.hpp" here as in an installation.
  set_target_properties(foretrain_${name} PROPERTIES EXPORT_NAME ${name})
  foretrain_version_header(${name})
  foretrain_unity(foretrain_${name})
  foretrain_precompile(foretrain_${name})
  install(TARGETS foretrain_${name} EXPORT foretrainTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/foretrain COMPONENT development
    FILE_SET generated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/foretrain COMPONENT development)
endfunction()
