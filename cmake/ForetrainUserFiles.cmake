# SPDX-License-Identifier: Apache-2.0
# What shells and man look for, made by the program itself and installed with it.
include_guard(GLOBAL)

set(user_files ${PROJECT_BINARY_DIR}/user_files)
add_custom_command(OUTPUT ${user_files}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${user_files}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${user_files}
  COMMAND foretrain_cli man ${user_files}/man1
  COMMAND foretrain_cli completion bash > ${user_files}/foretrain.bash
  COMMAND foretrain_cli completion zsh > ${user_files}/_foretrain
  COMMAND foretrain_cli completion fish > ${user_files}/foretrain.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${user_files}/stamp
  DEPENDS foretrain_cli VERBATIM)
add_custom_target(foretrain_user_files ALL DEPENDS ${user_files}/stamp)

install(DIRECTORY ${user_files}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${user_files}/foretrain.bash RENAME foretrain
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${user_files}/_foretrain DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${user_files}/foretrain.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
