add_executable(daemon_service_test
  unit/daemon/server/service/main.cc
  unit/daemon/server/service/serving.cc
  unit/daemon/server/service/captures_test.cc
  unit/daemon/server/service/counters_test.cc
  unit/daemon/server/service/inspection_test.cc
  unit/daemon/server/service/left_calls_test.cc
  unit/daemon/server/service/read_trace_test.cc
  unit/daemon/server/service/reasons_test.cc
  unit/daemon/server/service/record_test.cc
  unit/daemon/server/service/samples_test.cc
  unit/daemon/server/captures/fake_collector.cc
  unit/rpc/made_certificates.cc
  unit/symbolizer/cpython/interpreters.cc)
target_link_libraries(daemon_service_test PRIVATE pp_daemon_server_service pp_client_remote pp_daemon_collector_main GTest::gtest)
pp_target_defaults(daemon_service_test)
set_target_properties(daemon_service_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_service_test TEST_PREFIX daemon_service. DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
  PROPERTIES TIMEOUT 300)
