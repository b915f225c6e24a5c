# SPDX-License-Identifier: Apache-2.0
# stowage_opencl: OpenCL devices. It needs the headers of OpenCL and finds the loader when it runs.
if(NOT STOWAGE_OPENCL MATCHES "^(ON|OFF|AUTO)$")
  message(FATAL_ERROR "STOWAGE_OPENCL is ON, OFF or AUTO, not '${STOWAGE_OPENCL}'")
endif()
if(NOT STOWAGE_OPENCL STREQUAL OFF)
  find_path(opencl_include CL/opencl.hpp)
  if(NOT opencl_include AND STOWAGE_OPENCL STREQUAL ON)
    message(FATAL_ERROR "CL/opencl.hpp is not found (Debian: opencl-clhpp-headers)")
  endif()
endif()
if(NOT STOWAGE_OPENCL STREQUAL OFF AND opencl_include)
  # src/kernels/**/*.cl as string literals, by stem.
  file(GLOB_RECURSE cl_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cl)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${cl_files})
  set(cl_rows "")
  set(cl_stems "")
  foreach(f IN LISTS cl_files)
    get_filename_component(stem ${f} NAME_WE)
    if(stem IN_LIST cl_stems)
      message(FATAL_ERROR "two files are called ${stem}.cl")
    endif()
    list(APPEND cl_stems ${stem})
    file(READ ${f} cl_text)
    string(APPEND cl_rows "  if (stem == \"${stem}\") return R\"CLTEXT(${cl_text})CLTEXT\";\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/gen/cl_sources.cc.new "// Generated from src/kernels/**/*.cl.
#include \"opencl/cl_sources.h\"

std::string_view stowage::cl_source([[maybe_unused]] std::string_view stem) {
${cl_rows}  return {};
}
")
  file(COPY_FILE ${PROJECT_BINARY_DIR}/gen/cl_sources.cc.new ${PROJECT_BINARY_DIR}/gen/cl_sources.cc ONLY_IF_DIFFERENT)
  room_sources(opencl_sources opencl)
  add_library(stowage_opencl STATIC ${opencl_sources} ${PROJECT_BINARY_DIR}/gen/cl_sources.cc)
  add_library(stowage::opencl ALIAS stowage_opencl)
  target_include_directories(stowage_opencl PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(stowage_opencl SYSTEM PRIVATE ${opencl_include})
  target_compile_options(stowage_opencl PRIVATE ${warnings})
  target_link_libraries(stowage_opencl PUBLIC stowage PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
endif()
