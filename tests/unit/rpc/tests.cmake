add_executable(rpc_test unit/rpc/tls/arrival_rate_test.cc unit/rpc/connection/crc32c_test.cc unit/rpc/munge/munge_binding_test.cc unit/rpc/munge/munge_worker_test.cc
  unit/rpc/munge/munge_verifier_test.cc unit/rpc/connection/status_test.cc unit/rpc/tls/tls_door_test.cc unit/rpc/tls/tls_server_test.cc
  unit/rpc/unix/unix_listener_test.cc unit/rpc/unix/unix_socket_test.cc)
target_link_libraries(rpc_test PRIVATE pp_rpc GTest::gtest_main)
pp_target_defaults(rpc_test)
set_target_properties(rpc_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(rpc_test TEST_PREFIX rpc. PROPERTIES TIMEOUT 120)
