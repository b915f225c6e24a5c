# SPDX-License-Identifier: Apache-2.0
# One test program for the rooms (X_test.cc beside X.cc), found by file name.
enable_testing()
include(GoogleTest)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*_test.cc
     ${PROJECT_SOURCE_DIR}/cli/*_test.cc ${PROJECT_SOURCE_DIR}/tests/suite/*.cc)
if(test_sources)
  add_executable(stowage_tests ${test_sources})
  target_include_directories(stowage_tests PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_include_directories(stowage_tests SYSTEM PRIVATE ${flatbuffers_include} ${PROJECT_BINARY_DIR}/gen/tflite)
  target_compile_definitions(stowage_tests PRIVATE STOWAGE_TEST_DATA="${STOWAGE_TEST_DATA}"
    STOWAGE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # -O1: tests are built often and run once. -Wrestrict: g++ 12 is wrong about "x" + std::string
  # (GCC bug 105651).
  target_compile_options(stowage_tests PRIVATE -O1 -Wall -Wextra -Wno-missing-field-initializers
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -Werror)
  target_link_libraries(stowage_tests PRIVATE stowage GTest::gtest GTest::gtest_main PkgConfig::hwy nlohmann_json::nlohmann_json)
  foreach(lib stowage_import stowage_cli)
    if(TARGET ${lib})
      target_link_libraries(stowage_tests PRIVATE ${lib})
    endif()
  endforeach()
  gtest_discover_tests(stowage_tests DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endif()
# ./dev random: the random graphs of the suite, as many as wanted.
file(GLOB random_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/suite/random_graphs*.cc)
list(FILTER random_sources EXCLUDE REGEX "_test\\.cc$")
add_executable(random_graphs ${PROJECT_SOURCE_DIR}/tests/random/random_graphs.cc ${random_sources})
target_include_directories(random_graphs PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
target_compile_options(random_graphs PRIVATE -O1 ${warnings})
target_link_libraries(random_graphs PRIVATE stowage)
add_test(NAME rooms COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/check_rooms.py ${PROJECT_SOURCE_DIR}/src)
if(NOT STOWAGE_SANITIZE)
  add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/tests/install/run.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
endif()
if(TARGET stowage_main)
  add_test(NAME plan_html COMMAND ${PROJECT_SOURCE_DIR}/tests/suite/plan_html.sh
           $<TARGET_FILE:stowage_main> ${PROJECT_SOURCE_DIR}/models/upscale_x2.onnx
           --shape image=1,3,48,64)
  set_tests_properties(plan_html PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:" TIMEOUT 300)
  foreach(threads 1 2)
    add_test(NAME models_${threads}_thread COMMAND ${PROJECT_SOURCE_DIR}/tests/suite/check_models.sh
             $<TARGET_FILE:stowage_main> "${STOWAGE_TEST_DATA}" ${PROJECT_SOURCE_DIR}/build/zoo ${threads})
    set_tests_properties(models_${threads}_thread PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no test data" TIMEOUT 1800)
  endforeach()
endif()
