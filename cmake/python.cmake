# SPDX-License-Identifier: Apache-2.0
# The extension stowage._native and its stub. scikit-build-core configures it, as python/pyproject.toml says.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
nanobind_add_module(stowage_python STABLE_ABI FREE_THREADED NB_STATIC NOMINSIZE ${python_sources})
set_target_properties(stowage_python PROPERTIES OUTPUT_NAME _native)
target_compile_options(stowage_python PRIVATE ${warnings})
# A system header warns of nothing.
target_include_directories(stowage_python SYSTEM PRIVATE ${NB_DIR}/include)
target_include_directories(stowage_python PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(stowage_python PRIVATE stowage_import stowage_report)
# Of the archives nothing is seen from outside: another extension may have its own protobuf.
target_link_options(stowage_python PRIVATE -Wl,--exclude-libs,ALL)
if(TARGET stowage_opencl)
  target_link_libraries(stowage_python PRIVATE stowage_opencl)
  target_compile_definitions(stowage_python PRIVATE STOWAGE_HAS_OPENCL)
endif()
nanobind_add_stub(stowage_python_stub MODULE _native OUTPUT ${PROJECT_BINARY_DIR}/gen/_native.pyi
                  PYTHON_PATH $<TARGET_FILE_DIR:stowage_python> DEPENDS stowage_python)
install(TARGETS stowage_python LIBRARY DESTINATION stowage COMPONENT python)
install(FILES ${PROJECT_BINARY_DIR}/gen/_native.pyi DESTINATION stowage COMPONENT python)
