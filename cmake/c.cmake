# SPDX-License-Identifier: Apache-2.0
# stowage_c: the C interface, one shared library with the parts inside that are chosen. Its symbols are those of
# src/c/exports.txt.
room_sources(c_sources c)
set(c_definitions "")
set(c_libraries stowage stowage_report)
if("onnx;tflite;ncnn" STREQUAL "${c_importers}")
  list(APPEND c_libraries stowage_import)
else()
  import_library(stowage_c_import ${c_importers})
  list(APPEND c_libraries stowage_c_import)
endif()
foreach(format IN LISTS c_importers)
  string(TOUPPER ${format} format)
  list(APPEND c_definitions STOWAGE_C_HAS_${format})
endforeach()
if(STOWAGE_C_OPENCL STREQUAL ON AND NOT TARGET stowage_opencl)
  message(FATAL_ERROR "STOWAGE_C_OPENCL is ON, but STOWAGE_OPENCL leaves the library out")
endif()
if(TARGET stowage_opencl AND NOT STOWAGE_C_OPENCL STREQUAL OFF)
  list(APPEND c_libraries stowage_opencl)
  list(APPEND c_definitions STOWAGE_C_HAS_OPENCL)
endif()
# Tests link the objects: what they compare the C interface with is then the same library.
add_library(stowage_c_objects OBJECT ${c_sources})
target_include_directories(stowage_c_objects PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(stowage_c_objects PRIVATE ${c_definitions})
target_compile_options(stowage_c_objects PRIVATE -fvisibility=hidden ${warnings})
target_link_libraries(stowage_c_objects PUBLIC ${c_libraries})

add_library(stowage_c SHARED $<TARGET_OBJECTS:stowage_c_objects>)
add_library(stowage::c ALIAS stowage_c)
set(c_symbols ${PROJECT_SOURCE_DIR}/src/c/symbols.map)
set_target_properties(stowage_c PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      EXPORT_NAME c LINK_DEPENDS ${c_symbols})
target_include_directories(stowage_c INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/gen/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(stowage_c PRIVATE ${c_libraries})
target_link_options(stowage_c PRIVATE -Wl,--version-script=${c_symbols}
                    -Wl,--as-needed -Wl,--gc-sections)
if(NOT STOWAGE_SANITIZE)
  target_link_options(stowage_c PRIVATE -Wl,--no-undefined)
endif()
