# It replaces operator new, which GCC would compile into the other sources and report as mismatched.
set_source_files_properties(unit/daemon/trace/allocations.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_executable(daemon_trace_test
  unit/daemon/trace/allocations.cc
  unit/daemon/trace/calls_test.cc
  unit/daemon/trace/gpu_test.cc
  unit/daemon/trace/annotations_test.cc unit/daemon/trace/operators_test.cc
  unit/daemon/trace/read/counter_track_test.cc
  unit/daemon/trace/counters_test.cc
  unit/daemon/trace/inspection_codec_test.cc
  unit/daemon/trace/left_out_test.cc
  unit/daemon/trace/reader_test.cc
  unit/daemon/trace/round_trip_test.cc
  unit/daemon/trace/read/sample_batcher_test.cc
  unit/daemon/trace/stack_table_test.cc
  unit/daemon/trace/read/thread_dump_test.cc
  unit/daemon/trace/read/trace_meter_test.cc
  unit/daemon/trace/writer_test.cc)
pp_target_defaults(daemon_trace_test)
target_link_libraries(daemon_trace_test PRIVATE pp_daemon_trace pp_trace_proto GTest::gtest GTest::gtest_main)
gtest_discover_tests(daemon_trace_test PROPERTIES TIMEOUT 60)
