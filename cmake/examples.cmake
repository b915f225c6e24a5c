# SPDX-License-Identifier: Apache-2.0
# The programs of examples/, over the targets that are built here.
add_subdirectory(${PROJECT_SOURCE_DIR}/examples ${PROJECT_BINARY_DIR}/examples)
foreach(name common pictures classify convert detect ports two_threads)
  target_compile_options(${name} PRIVATE ${warnings})
endforeach()
