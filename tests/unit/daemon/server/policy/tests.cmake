add_executable(daemon_policy_test
  unit/daemon/server/policy/child_rules_test.cc
  unit/daemon/server/policy/policy_file_test.cc unit/daemon/server/policy/policy_test.cc)
target_link_libraries(daemon_policy_test PRIVATE pp_daemon_server_policy GTest::gtest_main)
pp_target_defaults(daemon_policy_test)
target_compile_definitions(daemon_policy_test PRIVATE PP_EXAMPLE_POLICY="${PROJECT_SOURCE_DIR}/packaging/policy.example.toml")
set_target_properties(daemon_policy_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_policy_test TEST_PREFIX daemon_policy. PROPERTIES TIMEOUT 60)
