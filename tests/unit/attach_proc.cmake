add_executable(attach_proc_test
  unit/attach_base_clean_text_test.cc unit/attach_base_hexadecimal_test.cc unit/attach_base_root_environment_test.cc unit/attach_base_started_thread_test.cc
  unit/attach_base_report_limit_test.cc
  unit/attach_proc_access_diagnosis_test.cc
  unit/attach_proc_anchored_memory_test.cc
  unit/attach_proc_cgroup_facts_test.cc
  unit/attach_proc_cgroup_folders_test.cc
  unit/attach_proc_maps_test.cc
  unit/attach_proc_mapped_file_test.cc
  unit/attach_proc_memory_grants_test.cc
  unit/attach_proc_path_in_root_test.cc
  unit/attach_proc_process_limits_test.cc
  unit/attach_proc_process_memory_test.cc
  unit/attach_proc_fork_trace_test.cc
  unit/attach_proc_procfs_test.cc
  unit/attach_proc_program_mark_test.cc
  unit/attach_proc_thread_activity_test.cc
  unit/attach_proc_own_namespaces_test.cc)
target_link_libraries(attach_proc_test PRIVATE pp_attach_proc GTest::gtest_main)
pp_target_defaults(attach_proc_test)
include(GoogleTest)
gtest_discover_tests(attach_proc_test PROPERTIES TIMEOUT 60)
