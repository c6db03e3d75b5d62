# SPDX-License-Identifier: Apache-2.0
# What find_package(foretrain) finds. Components of an installation:
#   program      the program and its data                 development  libraries, headers, CMake files
#   event        the event engine's plug-in (SimGrid)     mpi          sweeps under mpirun
#   gui          the desktop program                  python       import foretrain
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(foretrain_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/foretrain)
configure_package_config_file(cmake/foretrainConfig.cmake.in foretrainConfig.cmake
  INSTALL_DESTINATION ${foretrain_config_folder})
# Below 1.0 minor versions may break: SameMinorVersion takes 0.1.7 for 0.1.2, never 0.2.
write_basic_package_version_file(foretrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/foretrainConfig.cmake
              ${PROJECT_BINARY_DIR}/foretrainConfigVersion.cmake
  DESTINATION ${foretrain_config_folder} COMPONENT development)
install(EXPORT foretrainTargets NAMESPACE foretrain::
  DESTINATION ${foretrain_config_folder} COMPONENT development)
