# SPDX-License-Identifier: Apache-2.0
# Two Debian packages, for cpack: the command, and what programs link with, which needs packages that nobody wants who
# only runs models. ./dev package makes them.
if(TARGET stowage_main)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  if("$ENV{DEBEMAIL}" STREQUAL "")
    set(CPACK_PACKAGE_CONTACT "Unknown maintainer <unknown@unknown.invalid>")
  endif()
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
      OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL command development)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)

  set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME stowage)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS ocl-icd-libopencl1)
  set(CPACK_COMPONENT_COMMAND_DESCRIPTION "run neural networks, see where their tensors lie in memory
The command stowage runs, explains and measures models of ONNX, TFLite and
ncnn on the CPU and on OpenCL devices, and converts arrays between memory
layouts.")

  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libstowage-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libhwy-dev, libonnx-dev, libprotobuf-dev, pkg-config")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "neural networks on this device, C++ library
Headers and archives of Stowage, with files for CMake and pkg-config: tensor
layouts, conversions between them, readers of ONNX, TFLite and ncnn models,
a planner, and runtimes for the CPU and for OpenCL devices.")
  include(CPack)
endif()
