# SPDX-License-Identifier: Apache-2.0
# stowage: the core library. stowage_import: the model readers, by themselves, so that a phone build
# stays small.
function(room_sources out)
  set(all "")
  foreach(room IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cc)
    list(FILTER found EXCLUDE REGEX "_test\\.cc$")
    list(APPEND all ${found})
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

include(cmake/op_table.cmake)

room_sources(core base layout tensor convert mat kernels graph ops plan runtime)
add_library(stowage ${core} ${op_table})
add_library(stowage::stowage ALIAS stowage)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/stowage/*.h)
set(version_header ${PROJECT_BINARY_DIR}/gen/include/stowage/version.h)
configure_file(${PROJECT_SOURCE_DIR}/include/stowage/version.h.in ${version_header} @ONLY)
target_sources(stowage PUBLIC FILE_SET HEADERS FILES ${public_headers} ${version_header}
               BASE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/gen/include)
target_compile_features(stowage PUBLIC cxx_std_20)
target_include_directories(stowage PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(stowage PRIVATE PkgConfig::hwy Threads::Threads)
if(STOWAGE_SIMD STREQUAL native)
  target_compile_options(stowage PRIVATE -march=native)
  target_compile_definitions(stowage PRIVATE HWY_COMPILE_ONLY_STATIC)
else()
  # SSE4, AVX2 and AVX-512 on x86: what lies between adds compile time and no speed.
  target_compile_definitions(stowage PRIVATE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)")
endif()
# Files that Highway compiles for each instruction set take most of the time, above all under sanitizers.
foreach(source IN LISTS core)
  file(STRINGS ${source} simd REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
  if(simd)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${STOWAGE_KERNEL_OPTIONS})
  endif()
endforeach()
set(warnings "")
if(STOWAGE_DEVELOPER)
  set(warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
      -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -Werror)
endif()
target_compile_options(stowage PRIVATE ${warnings})

if(STOWAGE_CLI OR STOWAGE_EXAMPLES OR STOWAGE_PYTHON OR STOWAGE_DEVELOPER)
  room_sources(import import)
  if(import)
    set(tflite_schema ${PROJECT_SOURCE_DIR}/src/import/tflite.fbs)
    set(tflite_header ${PROJECT_BINARY_DIR}/gen/tflite/tflite_generated.h)
    add_custom_command(OUTPUT ${tflite_header} DEPENDS ${tflite_schema}
      COMMAND ${flatc} --cpp -o ${PROJECT_BINARY_DIR}/gen/tflite ${tflite_schema} VERBATIM)
    add_library(stowage_import ${import} ${tflite_header})
    add_library(stowage::import ALIAS stowage_import)
    target_include_directories(stowage_import PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_include_directories(stowage_import SYSTEM PRIVATE ${onnx_include} ${PROTOBUF_INCLUDE_DIRS}
                               ${flatbuffers_include} ${PROJECT_BINARY_DIR}/gen/tflite)
    target_compile_definitions(stowage_import PRIVATE ONNX_NAMESPACE=onnx ONNX_ML=1)
    target_compile_options(stowage_import PRIVATE ${warnings})
    target_link_libraries(stowage_import PUBLIC stowage PRIVATE onnx_proto protobuf::libprotobuf)
  endif()
endif()
