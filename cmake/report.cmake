# SPDX-License-Identifier: Apache-2.0
# stowage_report: plans as JSON and as a page. nlohmann_json is needed to compile it, not to link it.
if(NOT nlohmann_json_FOUND)
  return()
endif()
# src/report/plan.html with its style and its scripts as a string literal.
set(plan_page_files plan.html plan_page.css plan_page_graph.js plan_page_drawing.js plan_page_panels.js)
foreach(name ${plan_page_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/report/${name})
  file(READ ${PROJECT_SOURCE_DIR}/src/report/${name} text_of_${name})
endforeach()
string(CONCAT plan_page_script "${text_of_plan_page_graph.js}" "${text_of_plan_page_drawing.js}"
                               "${text_of_plan_page_panels.js}")
string(REPLACE "@PLAN_STYLE@" "${text_of_plan_page.css}" plan_page_text "${text_of_plan.html}")
string(REPLACE "@PLAN_SCRIPT@" "${plan_page_script}" plan_page_text "${plan_page_text}")
file(WRITE ${PROJECT_BINARY_DIR}/gen/plan_page.cc.new "// Generated from src/report/plan.html.
namespace stowage {
extern const char* const kPlanPage;
const char* const kPlanPage = R\"PAGE(${plan_page_text})PAGE\";
}  // namespace stowage
")
file(COPY_FILE ${PROJECT_BINARY_DIR}/gen/plan_page.cc.new ${PROJECT_BINARY_DIR}/gen/plan_page.cc ONLY_IF_DIFFERENT)
room_sources(report_sources report)
add_library(stowage_report STATIC ${report_sources} ${PROJECT_BINARY_DIR}/gen/plan_page.cc)
add_library(stowage::report ALIAS stowage_report)
# Text, once a plan: the templates of JSON take longer to optimise than they will ever run.
target_compile_options(stowage_report PRIVATE -O1 ${warnings})
target_include_directories(stowage_report PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(stowage_report SYSTEM PRIVATE
  $<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(stowage_report PUBLIC stowage)
