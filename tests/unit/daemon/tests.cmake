add_executable(daemon_session_test
  unit/daemon/server/captures/fake_collector.cc unit/symbolizer/cpython/interpreters.cc
  unit/daemon/server/captures/capture_registry_test.cc unit/daemon/server/captures/kept_listings_test.cc
  unit/daemon/server/captures/trace_spool_test.cc unit/daemon/server/captures/capture_shelf_test.cc
  unit/daemon/collector/sandbox/command_launch_test.cc unit/daemon/server/captures/cpu_budget_test.cc unit/daemon/collector/sandbox/owner_child_test.cc
  unit/daemon/collector/sandbox/pipe_sink_test.cc
  unit/daemon/collector/sandbox/rights_test.cc unit/daemon/server/captures/start_pool_test.cc unit/daemon/collector/sandbox/stop_line_test.cc
  unit/daemon/server/captures/stop_shares_test.cc
  unit/daemon/collector/sandbox/system_call_filter_test.cc unit/daemon/server/captures/trace_age_test.cc unit/daemon/server/captures/unsent_bytes_test.cc)
target_link_libraries(daemon_session_test PRIVATE pp_daemon_server_captures GTest::gtest_main)
pp_target_defaults(daemon_session_test)
set_target_properties(daemon_session_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_session_test TEST_PREFIX daemon_session. PROPERTIES TIMEOUT 60)
