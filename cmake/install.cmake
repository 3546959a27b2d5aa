# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` leaves behind: library, headers, program, and a package that find_package(Invar) understands.
include(CMakePackageConfigHelpers)
set(INVAR_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Invar")

install(TARGETS invar EXPORT InvarTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET invar_cli)
  install(TARGETS invar_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
# Readers of TOML and writers of pages are built on toml++ and nlohmann-json and serve the library alone.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/invar" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "toml_*.hpp" EXCLUDE PATTERN "scenario_parts.hpp" EXCLUDE PATTERN "control_parts.hpp" EXCLUDE PATTERN "model_parts.hpp" EXCLUDE
  PATTERN "figures.hpp" EXCLUDE PATTERN "packed.hpp" EXCLUDE PATTERN "json_text.hpp" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" "${PROJECT_SOURCE_DIR}/scenarios" DESTINATION "${CMAKE_INSTALL_DATADIR}/invar")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CITATION.cff" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT InvarTargets NAMESPACE invar:: DESTINATION "${INVAR_CMAKE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/InvarConfig.cmake.in" "${PROJECT_BINARY_DIR}/InvarConfig.cmake"
  INSTALL_DESTINATION "${INVAR_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/InvarConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/InvarConfig.cmake" "${PROJECT_BINARY_DIR}/InvarConfigVersion.cmake" DESTINATION "${INVAR_CMAKE_DIR}")
