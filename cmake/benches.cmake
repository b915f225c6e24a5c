# SPDX-License-Identifier: Apache-2.0
# bench/<scenario>/CMakeLists.txt, each a program of its own.
file(GLOB scenarios CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/CMakeLists.txt)
foreach(scenario IN LISTS scenarios)
  get_filename_component(dir ${scenario} DIRECTORY)
  add_subdirectory(${dir})
endforeach()
