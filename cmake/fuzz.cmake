# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/X_fuzz.cc, each a libFuzzer program X_fuzz. The preset fuzz has what they need.
add_custom_target(fuzzers)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${warnings})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE stowage_cli)
  add_dependencies(fuzzers ${name})
endforeach()
