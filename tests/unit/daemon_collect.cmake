add_executable(daemon_collect_test
  unit/daemon_collect_call_budget_test.cc
  unit/daemon_collect_call_filter_test.cc
  unit/daemon_collect_call_names_test.cc
  unit/daemon_collect_call_replayer_extended_test.cc
  unit/daemon_collect_call_replayer_stacks_test.cc
  unit/daemon_collect_call_replayer_test.cc
  unit/daemon_collect_call_window_test.cc
  unit/daemon_collect_caller_doubt_test.cc unit/daemon_collect_child_count_test.cc
  unit/daemon_collect_gpu_annotations_test.cc
  unit/daemon_collect_clock_fit_test.cc
  unit/daemon_collect_gpu_clock_test.cc
  unit/daemon_collect_gpu_time_check_test.cc
  unit/daemon_collect_gpu_coverage_test.cc
  unit/daemon_collect_gpu_early_test.cc
  unit/daemon_collect_gpu_engine_wait_test.cc
  unit/daemon_collect_gpu_graph_captures_test.cc
  unit/daemon_collect_gpu_joiner_test.cc
  unit/daemon_collect_gpu_launch_stacks_test.cc
  unit/daemon_collect_gpu_silence_test.cc
  unit/daemon_collect_gpu_test.cc
  unit/daemon_collect_pacer_test.cc
  unit/daemon_collect_round_times_test.cc
  unit/daemon_collect_read_plan_test.cc
  unit/daemon_collect_sampled_instead_test.cc
  unit/daemon_collect_step_gate_test.cc
  unit/daemon_collect_step_marker_test.cc
  unit/daemon_collect_thread_table_test.cc
  unit/daemon_collect_tick_clock_test.cc)
target_link_libraries(daemon_collect_test PRIVATE pp_daemon_collector GTest::gtest_main)
pp_target_defaults(daemon_collect_test)
include(GoogleTest)
gtest_discover_tests(daemon_collect_test PROPERTIES TIMEOUT 60)

# On real interpreters, which are looked up when the tests run.
add_executable(daemon_collect_objects_test
  unit/daemon_collect_arming_stop_test.cc
  unit/daemon_collect_target_objects_test.cc
  unit/symbolizer_cpython_interpreters.cc)
target_link_libraries(daemon_collect_objects_test PRIVATE pp_daemon_collector GTest::gtest_main)
target_compile_definitions(daemon_collect_objects_test PRIVATE
  PP_TARGET_OBJECTS_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/unit/daemon_collect_target_objects.py")
pp_target_defaults(daemon_collect_objects_test)
gtest_discover_tests(daemon_collect_objects_test DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT 120)
