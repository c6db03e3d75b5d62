# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# foretrain_embed(TARGET OUTPUT FUNCTION FILES... [FUNCTION FILES...]): adds a source to TARGET that
# defines `std::string_view foretrain::FUNCTION()` with the text of the files. A word without a dot
# is a function.
function(foretrain_embed target output)
  set(texts "")
  set(files "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "\\.")
      set(file "${CMAKE_CURRENT_SOURCE_DIR}/${word}")
      list(APPEND files "${file}")
      if(texts MATCHES "=$")
        string(APPEND texts "${file}")
      else()
        string(APPEND texts ",${file}")
      endif()
    else()
      if(texts)
        string(APPEND texts "|")
      endif()
      string(APPEND texts "${word}=")
    endif()
  endforeach()
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DTEXTS=${texts}" -P "${script}"
    DEPENDS ${files} "${script}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
