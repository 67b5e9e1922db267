add_executable(export_maker integration/export_maker.cc)
pp_target_defaults(export_maker)
target_link_libraries(export_maker PRIVATE daemon_export_sample_trace pp_daemon_export)
set_target_properties(export_maker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

foreach(test export_consumers html_report)
  add_test(NAME integration.${test}
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py $<TARGET_FILE:export_maker>)
  set_tests_properties(integration.${test} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>")
endforeach()
