add_executable(daemon_launcher_test
  unit/daemon/launcher/main.cc unit/daemon/launcher/arrivals_test.cc unit/daemon/launcher/launch_message_test.cc unit/daemon/launcher/launcher_rights_test.cc unit/daemon/launcher/peer_examination_test.cc unit/daemon/server/captures/launcher_connection_test.cc)
target_link_libraries(daemon_launcher_test PRIVATE pp_daemon_server_captures GTest::gtest)
pp_target_defaults(daemon_launcher_test)
set_target_properties(daemon_launcher_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(daemon_launcher_test TEST_PREFIX daemon_launcher. PROPERTIES TIMEOUT 120)
