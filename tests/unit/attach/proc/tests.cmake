add_executable(attach_proc_test
  unit/attach/base/clean_text_test.cc unit/attach/base/hexadecimal_test.cc unit/attach/base/root_environment_test.cc unit/attach/base/started_thread_test.cc
  unit/attach/base/report_limit_test.cc
  unit/attach/proc/access_diagnosis_test.cc
  unit/attach/proc/anchored_memory_test.cc
  unit/attach/proc/cgroup_facts_test.cc
  unit/attach/proc/cgroup_folders_test.cc
  unit/attach/proc/maps_test.cc
  unit/attach/proc/mapped_file_test.cc
  unit/attach/proc/memory_grants_test.cc
  unit/attach/proc/path_in_root_test.cc
  unit/attach/proc/process_limits_test.cc
  unit/attach/proc/process_memory_test.cc
  unit/attach/proc/fork_trace_test.cc
  unit/attach/proc/procfs_test.cc
  unit/attach/proc/program_mark_test.cc
  unit/attach/proc/thread_activity_test.cc
  unit/attach/proc/own_namespaces_test.cc)
target_link_libraries(attach_proc_test PRIVATE pp_attach_proc GTest::gtest_main)
pp_target_defaults(attach_proc_test)
include(GoogleTest)
gtest_discover_tests(attach_proc_test PROPERTIES TIMEOUT 60)
