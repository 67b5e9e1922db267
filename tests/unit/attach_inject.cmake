add_executable(attach_inject_test
  unit/attach_inject_bootstrap_text_test.cc
  unit/attach_inject_channel_test.cc
  unit/attach_inject_frame_strategy_test.cc
  unit/attach_inject_gpu_arena_test.cc
  unit/attach_inject_left_texts_test.cc
  unit/attach_inject_queued_call_test.cc
  unit/attach_inject_resident_stub_test.cc
  unit/attach_inject_run_call_test.cc
  unit/attach_inject_script_files_test.cc
  unit/attach_inject_script_threads_test.cc
  unit/attach_inject_code_cave_test.cc
  unit/attach_inject_text_thunk_test.cc
  unit/attach_inject_stub_file_test.cc)
target_link_libraries(attach_inject_test PRIVATE pp_attach_inject GTest::gtest_main Threads::Threads)
pp_target_defaults(attach_inject_test)
include(GoogleTest)
gtest_discover_tests(attach_inject_test PROPERTIES TIMEOUT 120)
