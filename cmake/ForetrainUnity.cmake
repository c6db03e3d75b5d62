# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# Most of what a source of ours takes to compile are templates of libraries, which sources of one
# unit share. A unit holds sources of one room only, and so few that changing one of them is soon
# compiled. CONTRIBUTING.md, "Building".
set(FORETRAIN_UNITY 24 CACHE STRING
    "Sources that are compiled together at most, all of one folder; 1: each alone")

# foretrain_unity(TARGET): groups the sources of a target by their folders, in equal parts.
function(foretrain_unity target)
  if(FORETRAIN_UNITY LESS_EQUAL 1)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^[^$]*\\.cpp$")
  set(rooms "")
  foreach(source IN LISTS sources)
    get_filename_component(room "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${room}" room)
    list(APPEND rooms ${room})
    list(APPEND sources_${room} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    list(LENGTH sources_${room} count)
    math(EXPR units "(${count} + ${FORETRAIN_UNITY} - 1) / ${FORETRAIN_UNITY}")
    set(place 0)
    foreach(source IN LISTS sources_${room})
      math(EXPR unit "${place} * ${units} / ${count}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${room}_${unit})
      math(EXPR place "${place} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
