# SPDX-License-Identifier: Apache-2.0
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cc ${PROJECT_SOURCE_DIR}/cli/io/*.cc)
list(FILTER cli_sources EXCLUDE REGEX "_test\\.cc$")
if(cli_sources)
  # cli/plan.html with its style and its scripts as a string literal.
  set(plan_page_files plan.html plan_page.css plan_page_graph.js plan_page_drawing.js plan_page_panels.js)
  foreach(name ${plan_page_files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/${name})
    file(READ ${PROJECT_SOURCE_DIR}/cli/${name} text_of_${name})
  endforeach()
  string(CONCAT plan_page_script "${text_of_plan_page_graph.js}" "${text_of_plan_page_drawing.js}"
                                 "${text_of_plan_page_panels.js}")
  string(REPLACE "@PLAN_STYLE@" "${text_of_plan_page.css}" plan_page_text "${text_of_plan.html}")
  string(REPLACE "@PLAN_SCRIPT@" "${plan_page_script}" plan_page_text "${plan_page_text}")
  file(WRITE ${PROJECT_BINARY_DIR}/gen/plan_page.cc.new "// Generated from cli/plan.html.
namespace stowage::cli {
extern const char* const kPlanPage;
const char* const kPlanPage = R\"PAGE(${plan_page_text})PAGE\";
}  // namespace stowage::cli
")
  file(COPY_FILE ${PROJECT_BINARY_DIR}/gen/plan_page.cc.new ${PROJECT_BINARY_DIR}/gen/plan_page.cc ONLY_IF_DIFFERENT)
  list(APPEND cli_sources ${PROJECT_BINARY_DIR}/gen/plan_page.cc)
  # Everything but main, so that tests can link it.
  list(FILTER cli_sources EXCLUDE REGEX "/main\\.cc$")
  # Verbs parse words and print. Optimising the templates of the parser takes longer than the rest of the build.
  set(verb_optimisation -O1)
  if(STOWAGE_SANITIZE)
    set(verb_optimisation -O0)
  endif()
  set(verb_sources ${cli_sources} ${PROJECT_SOURCE_DIR}/cli/main.cc)
  list(FILTER verb_sources EXCLUDE REGEX "/cli/io/")
  set_property(SOURCE ${verb_sources} APPEND PROPERTY COMPILE_OPTIONS ${verb_optimisation})
  add_library(stowage_cli STATIC ${cli_sources})
  target_include_directories(stowage_cli PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(stowage_cli PRIVATE ${warnings})
  target_link_libraries(stowage_cli PUBLIC stowage stowage_import CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json
                                    PRIVATE PNG::PNG PkgConfig::turbojpeg PkgConfig::yaml_cpp
                                            PkgConfig::libcrypto)
  if(TARGET stowage_opencl)
    target_link_libraries(stowage_cli PUBLIC stowage_opencl)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/cli/opencl.cc APPEND PROPERTY COMPILE_DEFINITIONS STOWAGE_HAS_OPENCL)
  endif()
  add_executable(stowage_main ${PROJECT_SOURCE_DIR}/cli/main.cc)
  set_target_properties(stowage_main PROPERTIES OUTPUT_NAME stowage)
  target_compile_options(stowage_main PRIVATE ${warnings})
  target_link_libraries(stowage_main PRIVATE stowage_cli)
  # Man pages and completion come out of the program, where it can run here.
  set(generated_share "")
  if(NOT CMAKE_CROSSCOMPILING AND NOT STOWAGE_SANITIZE)
    set(generated_share ${PROJECT_BINARY_DIR}/gen/share)
    add_custom_command(TARGET stowage_main POST_BUILD COMMAND stowage_main --share ${generated_share} VERBATIM)
  endif()
endif()
