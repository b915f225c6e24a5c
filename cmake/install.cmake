# SPDX-License-Identifier: Apache-2.0
# stowage::stowage, stowage::import, stowage::opencl and stowage::report for find_package(stowage); stowage,
# stowage-import, stowage-opencl and stowage-report for pkg-config. stowage::c and stowage_c are for C.
include(CMakePackageConfigHelpers)
set(install_targets stowage)
set(import_installed OFF)
if(TARGET stowage_import)
  set(import_installed ON)
  list(APPEND install_targets stowage_import)
  set_target_properties(stowage_import PROPERTIES EXPORT_NAME import)
endif()
if(TARGET stowage_opencl)
  list(APPEND install_targets stowage_opencl)
  set_target_properties(stowage_opencl PROPERTIES EXPORT_NAME opencl)
endif()
if(TARGET stowage_report)
  list(APPEND install_targets stowage_report)
  set_target_properties(stowage_report PROPERTIES EXPORT_NAME report)
endif()
# The component command is what runs models, development what links with the libraries.
install(TARGETS ${install_targets} EXPORT stowage_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT command NAMELINK_COMPONENT development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(TARGET stowage_main)
  install(TARGETS stowage_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/stowage COMPONENT command)
  # Sentences of the program name these pages.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command
          PATTERN adr EXCLUDE)
  if(generated_share)
    install(DIRECTORY ${generated_share}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT command)
  endif()
endif()
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stowage)
install(EXPORT stowage_targets NAMESPACE stowage:: DESTINATION ${config_dir} COMPONENT development)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gen/stowageConfig.cmake @ONLY CONTENT
"include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
find_dependency(Threads)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
if(@import_installed@)
  find_dependency(Protobuf)
endif()
include(\${CMAKE_CURRENT_LIST_DIR}/stowage_targets.cmake)
")
if(TARGET stowage_c)
  # A package of its own, stowage_c, which needs nothing else.
  set(c_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stowage_c)
  install(TARGETS stowage_c EXPORT stowage_c_targets COMPONENT development
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT stowage_c_targets NAMESPACE stowage:: FILE stowage_cConfig.cmake DESTINATION ${c_config_dir}
          COMPONENT development)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/gen/stowage_cConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/gen/stowage_cConfigVersion.cmake DESTINATION ${c_config_dir} COMPONENT development)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gen/stowageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gen/stowageConfig.cmake ${PROJECT_BINARY_DIR}/gen/stowageConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT development)

# write_pc(NAME TEXT REQUIRES LIBS): a file for pkg-config that may be moved with the prefix. REQUIRES and LIBS are what
# an archive needs beside itself; a shared library has them inside.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
function(write_pc name text requires libs)
  string(REPLACE "-" "_" archive ${name})
  set(private "")
  if(BUILD_SHARED_LIBS)
    set(private .private)
  endif()
  set(public "")
  if(NOT name MATCHES "^stowage(_c)?$")
    set(public "Requires: stowage = ${PROJECT_VERSION}\n")
  endif()
  if(requires AND public AND NOT private)
    set(public "Requires: stowage = ${PROJECT_VERSION}, ${requires}\n")
  elseif(requires)
    string(APPEND public "Requires${private}: ${requires}\n")
  endif()
  if(private)
    set(libs "-l${archive}\nLibs.private: ${libs}")
  else()
    set(libs "-l${archive} ${libs}")
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/gen/${name}.pc
"prefix=\${pcfiledir}/${pc_to_prefix}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: ${name}
Description: ${text}
Version: ${PROJECT_VERSION}
${public}Libs: -L\${libdir} ${libs}
Cflags: -I\${includedir}
")
  install(FILES ${PROJECT_BINARY_DIR}/gen/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endfunction()
write_pc(stowage "On-device neural networks, tensor layouts first" libhwy "-lpthread -lm")
if(TARGET stowage_import)
  write_pc(stowage-import "Readers of ONNX, TFLite and ncnn models for Stowage" protobuf -lonnx_proto)
endif()
if(TARGET stowage_opencl)
  write_pc(stowage-opencl "OpenCL devices for Stowage" "" "-ldl -lpthread")
endif()
if(TARGET stowage_c)
  write_pc(stowage_c "On-device neural networks, tensor layouts first: C interface" "" "")
endif()
if(TARGET stowage_report)
  write_pc(stowage-report "Plans of Stowage as JSON and as pages" "" "")
endif()
