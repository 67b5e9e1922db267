add_executable(daemon_service_test
  unit/daemon_service_main.cc
  unit/daemon_service_serving.cc
  unit/daemon_service_captures_test.cc
  unit/daemon_service_counters_test.cc
  unit/daemon_service_inspection_test.cc
  unit/daemon_service_left_calls_test.cc
  unit/daemon_service_read_trace_test.cc
  unit/daemon_service_reasons_test.cc
  unit/daemon_service_record_test.cc
  unit/daemon_service_samples_test.cc
  unit/daemon_session_fake_collector.cc
  unit/rpc_made_certificates.cc
  unit/symbolizer_cpython_interpreters.cc)
target_link_libraries(daemon_service_test PRIVATE pp_daemon_server_service pp_client_remote pp_daemon_collector_main GTest::gtest)
pp_target_defaults(daemon_service_test)
set_target_properties(daemon_service_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_service_test TEST_PREFIX daemon_service. DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
  PROPERTIES TIMEOUT 300)
