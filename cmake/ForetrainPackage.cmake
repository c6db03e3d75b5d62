# SPDX-License-Identifier: Apache-2.0
# Debian packages: `./dev package`, or the preset `package` and cpack -G DEB.
#   foretrain          program, catalogs, profiles, measurements, scenarios
#   foretrain-event    the plug-in of the event engine, apart because it is linked with SimGrid
#   foretrain-mpi      the plug-in for sweeps under mpirun, apart because it brings an MPI
#   foretrain-gui      the desktop program, where it is built
#   python3-foretrain  `import foretrain`, where it is built
#   libforetrain-dev   static libraries, headers, find_package(foretrain)
include_guard(GLOBAL)

# What is released is built by the preset `package`; the preset `dev` packs what it tests, where the
# tools are there.
find_program(FORETRAIN_PYTHON python3)
find_program(FORETRAIN_GZIP gzip)
find_program(FORETRAIN_SHLIBDEPS dpkg-shlibdeps)
find_program(FORETRAIN_FILE file)
if(NOT (EXISTS /var/lib/dpkg/status AND FORETRAIN_PYTHON AND FORETRAIN_GZIP AND FORETRAIN_SHLIBDEPS
        AND FORETRAIN_FILE))
  set(missing "Debian packages need Debian, python3, gzip, file and dpkg-shlibdeps (dpkg-dev)")
  if(FORETRAIN_REPRODUCIBLE)
    message(FATAL_ERROR "${missing}")
  endif()
  message(STATUS "${missing}: none are made here")
  return()
endif()
set(FORETRAIN_PACKS ON)

# A maintainer who distributes the packages puts an own address here.
set(FORETRAIN_MAINTAINER "Foretrain developers <foretrain@example.org>" CACHE STRING
  "Maintainer of the Debian packages: name <address>")
# Debian's changelog, with the day of the sources (SOURCE_DATE_EPOCH); ours is CHANGELOG.md.
string(TIMESTAMP foretrain_day "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/changelog.in ${PROJECT_BINARY_DIR}/packaging/changelog @ONLY)
execute_process(COMMAND ${FORETRAIN_GZIP} -9nc ${PROJECT_BINARY_DIR}/packaging/changelog
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/packaging/changelog.gz COMMAND_ERROR_IS_FATAL ANY)

# Each package has its copyright file, and the program's one also what it is made of.
set(foretrain_packages program event development)
if(TARGET foretrain_mpi)
  list(APPEND foretrain_packages mpi)
endif()
if(TARGET foretrain_gui_program)
  list(APPEND foretrain_packages gui)
endif()
if(TARGET foretrain_python)
  list(APPEND foretrain_packages python)
endif()
set(foretrain_name_python python3-foretrain)
set(foretrain_name_program foretrain)
set(foretrain_name_event foretrain-event)
set(foretrain_name_development libforetrain-dev)
set(foretrain_name_mpi foretrain-mpi)
set(foretrain_name_gui foretrain-gui)
foreach(component ${foretrain_packages})
  # What a binary is linked with decides about its licence: docs/licences.md.
  set(copyright packaging/copyright)
  if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/copyright-${component})
    set(copyright packaging/copyright-${component})
  endif()
  install(FILES ${copyright} RENAME copyright COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${foretrain_name_${component}})
  install(FILES ${PROJECT_BINARY_DIR}/packaging/changelog.gz
    COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${foretrain_name_${component}})
endforeach()
install(FILES README.md CHANGELOG.md COMPONENT program
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/foretrain)

# Debian wants manual pages compressed. This runs after what installs them.
install(CODE "file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
  if(pages)
    execute_process(COMMAND \"${FORETRAIN_GZIP}\" -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT program)

# foretrain_spdx(COMPONENT LICENCE TARGET [OPTION...]): the list of what a package's binary is made of
# (SPDX 2.3), read off the built file at installation.
function(foretrain_spdx component licence target)
  set(package ${foretrain_name_${component}})
  set(file ${PROJECT_BINARY_DIR}/${package}.spdx.json)
  list(JOIN ARGN "\" \"" options)
  install(CODE "execute_process(COMMAND \"${FORETRAIN_PYTHON}\"
    \"${PROJECT_SOURCE_DIR}/packaging/spdx.py\" --name ${package} --version ${PROJECT_VERSION}
    --licence \"${licence}\" --out \"${file}\" \"${options}\" --
    \"$<TARGET_FILE:${target}>\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
  install(FILES ${file} COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package})
endfunction()
set(foretrain_headers /usr/include/nlohmann/json.hpp /usr/include/CLI/CLI.hpp
  /usr/include/boost/graph/graph_traits.hpp /usr/include/eigen3/Eigen/Core)
foretrain_spdx(program "Apache-2.0" foretrain_cli --built-with ${foretrain_headers})
foretrain_spdx(event "Apache-2.0 AND LGPL-2.1-only" foretrain_simgrid
  --comment "Debian's SimGrid loads ns-3, which is GPL-2.0-only: see docs/licences.md"
  --built-with /usr/include/boost/graph/graph_traits.hpp)
if(TARGET foretrain_mpi)
  foretrain_spdx(mpi "Apache-2.0" foretrain_mpi --built-with /usr/include/nlohmann/json.hpp)
endif()
if(TARGET foretrain_gui_program)
  foretrain_spdx(gui "Apache-2.0 AND GPL-3.0-only" foretrain_gui_program
    --comment "Qt Charts is GPL-3.0: the program as a whole is conveyed under GPL-3.0"
    --built-with ${foretrain_headers})
endif()

if(TARGET foretrain_python)
  foretrain_spdx(python "Apache-2.0" foretrain_python
    --built-with ${foretrain_headers} /usr/include/pybind11/pybind11.h)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME foretrain)
set(CPACK_PACKAGE_VENDOR Foretrain)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL ${foretrain_packages})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${FORETRAIN_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

foreach(component ${foretrain_packages})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${foretrain_name_${component}})
endforeach()
set(same "foretrain (= ${PROJECT_VERSION})")
# The first line of every description is the project's.
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Says before anyone buys, reserves or starts a cluster whether a training run
fits, how fast a step is, where the time goes, how many days it takes and what
it costs, with a name for every byte and every millisecond.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "foretrain-event")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "foretrain-mpi, foretrain-gui")
set(CPACK_COMPONENT_EVENT_DESCRIPTION
"Plug-in of foretrain for --engine event: steps and collectives on their fabric.
It is linked with SimGrid (LGPL-2.1), which Debian builds with ns-3 (GPL-2).")
set(CPACK_DEBIAN_EVENT_PACKAGE_DEPENDS "${same}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Static libraries, headers and CMake files of the models and the planner:
find_package(foretrain) gives foretrain::models to foretrain::planner.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${same}, libfmt-dev, libboost-dev, libpugixml-dev, libtomlplusplus-dev, libprotobuf-dev, libyaml-cpp-dev, nlohmann-json3-dev, libeigen3-dev, zlib1g-dev, libsqlite3-dev")
set(CPACK_COMPONENT_MPI_DESCRIPTION
"Plug-in of foretrain for sweeps that run under mpirun.")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "${same}, openmpi-bin")
set(CPACK_COMPONENT_GUI_DESCRIPTION
"Desktop program: editor of scenarios with live forecasts, pictures and
comparisons. It is linked with Qt Charts, so that as a whole it is under the
GPL, version 3.")
set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "${same}")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"Python module of foretrain: every command as a function that takes a path or a
dict and returns the forecast with its numbers as attributes.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, foretrain-event")
if(TARGET foretrain_python)  # compiled for one minor version of Python
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "${same}, python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next})")
endif()
include(CPack)
