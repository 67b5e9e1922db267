add_executable(daemon_program_test unit/daemon/server/program/audit_log_test.cc unit/daemon/server/program/daemon_log_test.cc unit/daemon/server/program/daemon_options_test.cc
  unit/daemon/server/program/descriptor_shares_test.cc unit/daemon/server/program/passed_socket_test.cc unit/daemon/server/program/service_notice_test.cc unit/daemon/server/program/system_call_wall_test.cc)
target_link_libraries(daemon_program_test PRIVATE pp_daemon_server_program GTest::gtest_main)
pp_target_defaults(daemon_program_test)
set_target_properties(daemon_program_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_program_test TEST_PREFIX daemon_program. PROPERTIES TIMEOUT 60)
