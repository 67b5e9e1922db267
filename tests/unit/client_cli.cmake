add_executable(client_cli_test
  unit/client_cli_audit_file_test.cc unit/client_cli_audit_line_test.cc unit/client_cli_captures_test.cc unit/client_cli_completion_test.cc unit/client_cli_dump_json_test.cc unit/client_cli_dump_text_test.cc
  unit/client_cli_exit_code_test.cc unit/client_cli_named_target_test.cc
  unit/client_cli_progress_test.cc unit/client_cli_ps_table_test.cc unit/client_cli_record_plan_test.cc unit/client_cli_spool_file_test.cc unit/client_cli_source_file_test.cc unit/client_cli_spec_options_test.cc
  unit/client_cli_top_model_test.cc unit/client_cli_top_session_test.cc
  unit/client_cli_totals_text_test.cc
  unit/client_cli_trace_spooler_test.cc)
target_link_libraries(client_cli_test PRIVATE pp_client_cli GTest::gtest_main)
target_compile_definitions(client_cli_test PRIVATE PP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
pp_target_defaults(client_cli_test)
set_target_properties(client_cli_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(client_cli_test TEST_PREFIX client_cli. PROPERTIES TIMEOUT 60)
