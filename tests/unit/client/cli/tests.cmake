add_executable(client_cli_test
  unit/client/cli/admin/audit_file_test.cc unit/client/cli/admin/audit_line_test.cc unit/client/cli/captures/captures_test.cc unit/client/cli/completion_test.cc unit/client/cli/inspect/dump_json_test.cc unit/client/cli/inspect/dump_text_test.cc
  unit/client/cli/exit_code_test.cc unit/client/cli/inspect/named_target_test.cc
  unit/client/cli/record/progress_test.cc unit/client/cli/inspect/ps_table_test.cc unit/client/cli/record/record_plan_test.cc unit/client/cli/record/spool_file_test.cc unit/client/cli/export/source_file_test.cc unit/client/cli/record/spec_options_test.cc
  unit/client/cli/top/top_model_test.cc unit/client/cli/top/top_session_test.cc
  unit/client/cli/record/totals_text_test.cc
  unit/client/cli/record/trace_ready_test.cc
  unit/client/cli/record/trace_spooler_test.cc)
target_link_libraries(client_cli_test PRIVATE pp_client_cli GTest::gtest_main)
target_compile_definitions(client_cli_test PRIVATE PP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
pp_target_defaults(client_cli_test)
set_target_properties(client_cli_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(client_cli_test TEST_PREFIX client_cli. PROPERTIES TIMEOUT 60)
