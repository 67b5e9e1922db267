add_executable(daemon_collect_test
  unit/daemon_collect_call_replayer_test.cc
  unit/daemon_collect_chain_verifier_test.cc
  unit/daemon_collect_pacer_test.cc
  unit/daemon_collect_read_plan_test.cc
  unit/daemon_collect_tick_clock_test.cc)
target_link_libraries(daemon_collect_test PRIVATE pp_daemon_collect GTest::gtest_main)
pp_target_defaults(daemon_collect_test)
include(GoogleTest)
gtest_discover_tests(daemon_collect_test PROPERTIES TIMEOUT 60)
