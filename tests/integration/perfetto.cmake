add_executable(perfetto_trace_maker integration/perfetto_trace_maker.cc integration/perfetto_calls_maker.cc)
pp_target_defaults(perfetto_trace_maker)
target_link_libraries(perfetto_trace_maker PRIVATE pp_daemon_trace)
set_target_properties(perfetto_trace_maker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_test(NAME integration.perfetto
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/perfetto_test.py $<TARGET_FILE:perfetto_trace_maker>)
set_tests_properties(integration.perfetto PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>")
