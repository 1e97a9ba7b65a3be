# What `cmake --install` gives to others: the shared library, its public
# headers, a CMake package and a pkg-config file. Programs are installed by the
# folders that build them. tests/package tries all of it.
include(CMakePackageConfigHelpers)

install(TARGETS ers EXPORT libers-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/libers/include/ers
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(ERS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/libers)
install(EXPORT libers-targets NAMESPACE libers::
  DESTINATION ${ERS_PACKAGE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/libers-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/libers-config.cmake
  INSTALL_DESTINATION ${ERS_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/libers-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/libers-config.cmake
              ${PROJECT_BINARY_DIR}/cmake/libers-config-version.cmake
  DESTINATION ${ERS_PACKAGE_DIR})

# The prefix may be given as late as `cmake --install --prefix`, so this file
# is written then. Directories given as absolute paths are kept as they are.
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(ERS_PC_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(ERS_PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
set(CMAKE_INSTALL_PREFIX_NOW ${CMAKE_INSTALL_PREFIX})
set(CMAKE_INSTALL_PREFIX "@CMAKE_INSTALL_PREFIX@")
configure_file(${PROJECT_SOURCE_DIR}/cmake/libers.pc.in
               ${PROJECT_BINARY_DIR}/cmake/libers.pc.in @ONLY)
set(CMAKE_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX_NOW})
install(CODE "configure_file(\"${PROJECT_BINARY_DIR}/cmake/libers.pc.in\"
  \"${PROJECT_BINARY_DIR}/cmake/libers.pc\" @ONLY)")
install(FILES ${PROJECT_BINARY_DIR}/cmake/libers.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
