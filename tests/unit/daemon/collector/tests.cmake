add_executable(daemon_collect_test
  unit/daemon/collector/calls/call_budget_test.cc
  unit/daemon/collector/calls/call_filter_test.cc
  unit/daemon/collector/calls/call_names_test.cc
  unit/daemon/collector/calls/call_replayer_extended_test.cc
  unit/daemon/collector/calls/call_replayer_stacks_test.cc
  unit/daemon/collector/calls/call_replayer_test.cc
  unit/daemon/collector/calls/call_window_test.cc
  unit/daemon/collector/target/caller_doubt_test.cc unit/daemon/collector/target/child_count_test.cc
  unit/daemon/collector/gpu/gpu_annotations_test.cc
  unit/daemon/collector/gpu/clock_fit_test.cc
  unit/daemon/collector/gpu/gpu_clock_test.cc
  unit/daemon/collector/torch/execution_trace_test.cc
  unit/daemon/collector/torch/torch_decoder_test.cc
  unit/daemon/collector/torch/torch_blocks_test.cc
  unit/daemon/collector/torch/torch_inputs_test.cc
  unit/daemon/collector/torch/torch_storages_test.cc
  unit/daemon/collector/torch/torch_merge_test.cc
  unit/daemon/collector/gpu/gpu_time_check_test.cc
  unit/daemon/collector/gpu/gpu_coverage_test.cc
  unit/daemon/collector/gpu/gpu_early_test.cc
  unit/daemon/collector/gpu/gpu_engine_wait_test.cc
  unit/daemon/collector/gpu/gpu_graph_captures_test.cc
  unit/daemon/collector/gpu/gpu_joiner_test.cc
  unit/daemon/collector/gpu/gpu_launch_stacks_test.cc
  unit/daemon/collector/gpu/gpu_silence_test.cc
  unit/daemon/collector/gpu/gpu_test.cc
  unit/daemon/collector/sample/pacer_test.cc
  unit/daemon/collector/sample/round_times_test.cc
  unit/daemon/collector/sample/read_plan_test.cc
  unit/daemon/collector/calls/sampled_instead_test.cc
  unit/daemon/collector/calls/step_gate_test.cc
  unit/daemon/collector/calls/step_calls_test.cc
  unit/daemon/collector/calls/step_marker_test.cc
  unit/daemon/collector/target/thread_table_test.cc
  unit/daemon/collector/calls/tick_clock_test.cc)
target_link_libraries(daemon_collect_test PRIVATE pp_daemon_collector GTest::gtest_main)
pp_target_defaults(daemon_collect_test)
include(GoogleTest)
gtest_discover_tests(daemon_collect_test PROPERTIES TIMEOUT 60)

# Tests on real interpreters, which are searched for when the tests run.
add_executable(daemon_collect_objects_test
  unit/daemon/collector/calls/arming_stop_test.cc
  unit/daemon/collector/calls/target_objects_test.cc
  unit/symbolizer/cpython/interpreters.cc)
target_link_libraries(daemon_collect_objects_test PRIVATE pp_daemon_collector GTest::gtest_main)
target_compile_definitions(daemon_collect_objects_test PRIVATE
  PP_TARGET_OBJECTS_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/unit/daemon/collector/calls/target_objects.py")
pp_target_defaults(daemon_collect_objects_test)
gtest_discover_tests(daemon_collect_objects_test DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT 120)
