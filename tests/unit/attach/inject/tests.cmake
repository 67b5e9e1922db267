add_executable(attach_inject_test
  unit/attach/inject/bootstrap_text_test.cc
  unit/attach/inject/channel_test.cc
  unit/attach/inject/frame_strategy_test.cc
  unit/attach/inject/gpu_arena_test.cc
  unit/attach/inject/left_texts_test.cc
  unit/attach/inject/queued_call_test.cc
  unit/attach/inject/resident_stub_test.cc
  unit/attach/inject/run_call_test.cc
  unit/attach/inject/script_files_test.cc
  unit/attach/inject/script_threads_test.cc
  unit/attach/inject/code_cave_test.cc
  unit/attach/inject/text_thunk_test.cc
  unit/attach/inject/stub_file_test.cc)
target_link_libraries(attach_inject_test PRIVATE pp_attach_inject GTest::gtest_main Threads::Threads)
pp_target_defaults(attach_inject_test)
include(GoogleTest)
gtest_discover_tests(attach_inject_test PROPERTIES TIMEOUT 120)
