# SPDX-License-Identifier: Apache-2.0
# What makes a memory error end the program instead of going on, in every preset: stack protector,
# checked copies where sizes are known, position-independent programs, and tables of symbols that are
# bound at the start and read-only from then on. tests/package/hardening_test.py reads it off what is
# built.
include_guard(GLOBAL)
include(CheckPIESupported)

check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>")
add_link_options("LINKER:-z,relro" "LINKER:-z,now")
# Needs an optimiser, and stands in the way of a sanitizer's own checks.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize|-O0")
  add_compile_options(
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
