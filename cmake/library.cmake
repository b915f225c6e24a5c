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
# SSE4, AVX2 and AVX-512 on x86, NEON on Arm. What lies between adds compile time and no speed, and kernels keep vectors
# in arrays, which those of a length unknown to the compiler can't be in (SVE, RVV).
set(simd_definitions "STOWAGE_LEFT_OUT=HWY_SSSE3|HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128|HWY_RVV")
if(NOT STOWAGE_SIMD STREQUAL all)
  target_compile_options(stowage PRIVATE -march=${STOWAGE_SIMD})
  list(APPEND simd_definitions HWY_COMPILE_ONLY_STATIC "HWY_DISABLED_TARGETS=(STOWAGE_LEFT_OUT)")
else()
  # src/convert/kernels.cc alone takes AVX3_DL too.
  list(APPEND simd_definitions "HWY_DISABLED_TARGETS=(STOWAGE_LEFT_OUT|HWY_AVX3_DL)")
endif()
target_compile_definitions(stowage PRIVATE ${simd_definitions})
# Or prefetches for write are compiled to prefetches for reading: no instruction set of Highway's has them. Processors
# of 64 bits without the instruction do nothing.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_property(SOURCE src/convert/kernels.cc APPEND PROPERTY COMPILE_OPTIONS -mprfchw)
endif()
# Files that Highway compiles for each instruction set take most of the time, above all under sanitizers.
# A small build is small around them.
set(kernel_options ${STOWAGE_KERNEL_OPTIONS})
if(CMAKE_BUILD_TYPE STREQUAL MinSizeRel)
  list(PREPEND kernel_options -O2)
endif()
foreach(source IN LISTS core)
  file(STRINGS ${source} simd REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
  if(simd)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${kernel_options})
  endif()
endforeach()
set(warnings "")
if(STOWAGE_DEVELOPER)
  set(warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
      -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -Werror)
endif()
target_compile_options(stowage PRIVATE ${warnings})

# import_library(NAME FORMAT...): a library of the readers of these formats; in place of each other one stands the file of
# src/import/absent, which refuses its models.
function(import_library name)
  room_sources(import import)
  set(onnx "/(onnx|proto_file|inspect)[a-z_]*\\.cc$")
  set(tflite "/(tflite|tflite_graph|tflite_options)\\.cc$")
  set(ncnn "/(ncnn|ncnn_weights)\\.cc$")
  list(FILTER import EXCLUDE REGEX "/absent/")
  foreach(format onnx tflite ncnn)
    if(NOT format IN_LIST ARGN)
      list(FILTER import EXCLUDE REGEX "${${format}}")
      list(APPEND import ${PROJECT_SOURCE_DIR}/src/import/absent/${format}.cc)
    endif()
  endforeach()
  add_library(${name} ${import} ${tflite_header})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${name} SYSTEM PRIVATE ${flatbuffers_include} ${PROJECT_BINARY_DIR}/gen/tflite)
  target_compile_options(${name} PRIVATE ${warnings})
  target_link_libraries(${name} PUBLIC stowage)
  if("onnx" IN_LIST ARGN)
    target_include_directories(${name} SYSTEM PRIVATE ${onnx_include} ${PROTOBUF_INCLUDE_DIRS})
    target_compile_definitions(${name} PRIVATE ONNX_NAMESPACE=onnx ONNX_ML=1)
    target_link_libraries(${name} PRIVATE onnx_proto protobuf::libprotobuf)
  endif()
endfunction()

if(flatc)
  set(tflite_schema ${PROJECT_SOURCE_DIR}/src/import/tflite.fbs)
  set(tflite_header ${PROJECT_BINARY_DIR}/gen/tflite/tflite_generated.h)
  add_custom_command(OUTPUT ${tflite_header} DEPENDS ${tflite_schema}
    COMMAND ${flatc} --cpp -o ${PROJECT_BINARY_DIR}/gen/tflite ${tflite_schema} VERBATIM)
endif()
if(needs_onnx)
  import_library(stowage_import onnx tflite ncnn)
  add_library(stowage::import ALIAS stowage_import)
endif()
