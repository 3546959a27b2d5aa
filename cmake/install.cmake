# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` leaves behind: library, headers, program, and a package that find_package(Invar) understands.
include(CMakePackageConfigHelpers)
set(INVAR_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Invar")

install(TARGETS invar EXPORT InvarTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET invar_cli)
  install(TARGETS invar_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
# Readers of TOML and writers of pages are built on toml++, HDF5 and nlohmann-json and serve the library alone; kernels follow the
# processor that they are compiled for, and have no place in a program that is compiled for another.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/invar" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "toml_*.hpp" EXCLUDE PATTERN "scenario_parts.hpp" EXCLUDE PATTERN "control_parts.hpp" EXCLUDE PATTERN "model_parts.hpp" EXCLUDE
  PATTERN "figures.hpp" EXCLUDE PATTERN "packed.hpp" EXCLUDE PATTERN "json_*.hpp" EXCLUDE PATTERN "hdf5_driver.hpp" EXCLUDE
  PATTERN "file_lock.hpp" EXCLUDE PATTERN "printable.hpp" EXCLUDE
  PATTERN "kernel" EXCLUDE PATTERN "tree_store.hpp" EXCLUDE PATTERN "front_lanes.hpp" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" "${PROJECT_SOURCE_DIR}/scenarios" DESTINATION "${CMAKE_INSTALL_DATADIR}/invar")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CITATION.cff" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# For programs that are not built by CMake. The prefix is found from where the file is.
file(RELATIVE_PATH INVAR_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
list(JOIN INVAR_EIGEN_FLAGS " " INVAR_EIGEN_FLAGS)
configure_file("${CMAKE_CURRENT_LIST_DIR}/invar.pc.in" "${PROJECT_BINARY_DIR}/invar.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/invar.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(EXPORT InvarTargets NAMESPACE invar:: DESTINATION "${INVAR_CMAKE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/InvarConfig.cmake.in" "${PROJECT_BINARY_DIR}/InvarConfig.cmake"
  INSTALL_DESTINATION "${INVAR_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/InvarConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/InvarConfig.cmake" "${PROJECT_BINARY_DIR}/InvarConfigVersion.cmake" DESTINATION "${INVAR_CMAKE_DIR}")
