add_executable(attach_ptrace_test
  unit/attach/ptrace/traced_threads_test.cc
  unit/attach/ptrace/stopped_threads_test.cc
  unit/attach/ptrace/tracee_test.cc)
target_link_libraries(attach_ptrace_test PRIVATE pp_attach_ptrace GTest::gtest_main Threads::Threads)
pp_target_defaults(attach_ptrace_test)
include(GoogleTest)
gtest_discover_tests(attach_ptrace_test PROPERTIES TIMEOUT 120)
