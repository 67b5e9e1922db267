add_executable(daemon_trace_test
  unit/daemon_trace_allocations.cc
  unit/daemon_trace_calls_test.cc
  unit/daemon_trace_gpu_test.cc
  unit/daemon_trace_annotations_test.cc
  unit/daemon_trace_counter_track_test.cc
  unit/daemon_trace_counters_test.cc
  unit/daemon_trace_inspection_codec_test.cc
  unit/daemon_trace_left_out_test.cc
  unit/daemon_trace_reader_test.cc
  unit/daemon_trace_round_trip_test.cc
  unit/daemon_trace_sample_batcher_test.cc
  unit/daemon_trace_stack_table_test.cc
  unit/daemon_trace_thread_dump_test.cc
  unit/daemon_trace_writer_test.cc)
pp_target_defaults(daemon_trace_test)
target_link_libraries(daemon_trace_test PRIVATE pp_daemon_trace pp_trace_proto GTest::gtest GTest::gtest_main)
gtest_discover_tests(daemon_trace_test PROPERTIES TIMEOUT 60)
