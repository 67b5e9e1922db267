add_executable(daemon_inspect_test
  unit/daemon/collector/inspect/examination_test.cc
  unit/daemon/collector/inspect/gpu_libraries_test.cc unit/daemon/collector/inspect/gpu_outlook_test.cc
  unit/daemon/collector/inspect/launch_facts_test.cc
  unit/daemon/collector/inspect/libc_environ_test.cc unit/daemon/collector/inspect/node_checks_test.cc
  unit/daemon/collector/inspect/process_scan_test.cc)
target_link_libraries(daemon_inspect_test PRIVATE pp_daemon_collector_inspect GTest::gtest_main)
pp_target_defaults(daemon_inspect_test)
set_target_properties(daemon_inspect_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_inspect_test TEST_PREFIX daemon_inspect. PROPERTIES TIMEOUT 60)
