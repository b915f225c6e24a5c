# SPDX-License-Identifier: Apache-2.0
# stowage::stowage, stowage::import and stowage::opencl for find_package(stowage), and stowage.pc.
include(CMakePackageConfigHelpers)
set(install_targets stowage)
if(TARGET stowage_import)
  list(APPEND install_targets stowage_import)
  set_target_properties(stowage_import PROPERTIES EXPORT_NAME import)
endif()
if(TARGET stowage_opencl)
  list(APPEND install_targets stowage_opencl)
  set_target_properties(stowage_opencl PROPERTIES EXPORT_NAME opencl)
endif()
install(TARGETS ${install_targets} EXPORT stowage_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET stowage_main)
  install(TARGETS stowage_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/stowage)
endif()
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stowage)
install(EXPORT stowage_targets NAMESPACE stowage:: DESTINATION ${config_dir})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gen/stowageConfig.cmake @ONLY CONTENT
"include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
find_dependency(Threads)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
if(@STOWAGE_CLI@)
  find_dependency(Protobuf)
endif()
include(\${CMAKE_CURRENT_LIST_DIR}/stowage_targets.cmake)
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gen/stowageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gen/stowageConfig.cmake ${PROJECT_BINARY_DIR}/gen/stowageConfigVersion.cmake
        DESTINATION ${config_dir})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gen/stowage.pc @ONLY CONTENT
"prefix=@CMAKE_INSTALL_PREFIX@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: stowage
Description: On-device neural networks, tensor layouts first
Version: @PROJECT_VERSION@
Requires.private: libhwy
Libs: -L\${libdir} -lstowage
Libs.private: -lpthread -lstdc++ -lm
Cflags: -I\${includedir}
")
install(FILES ${PROJECT_BINARY_DIR}/gen/stowage.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
