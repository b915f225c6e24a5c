# SPDX-License-Identifier: Apache-2.0
# examples/*.cc, each a program, with what common.cc has.
add_library(examples_common STATIC ${PROJECT_SOURCE_DIR}/examples/common.cc)
target_compile_options(examples_common PRIVATE ${warnings})
target_link_libraries(examples_common PUBLIC stowage::import PRIVATE PNG::PNG PkgConfig::turbojpeg)
foreach(name classify detect)
  add_executable(example_${name} ${PROJECT_SOURCE_DIR}/examples/${name}.cc)
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_compile_options(example_${name} PRIVATE ${warnings})
  target_link_libraries(example_${name} PRIVATE examples_common)
endforeach()
