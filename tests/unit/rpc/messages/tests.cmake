add_executable(rpc_messages_test
  unit/rpc/messages/check_spec_test.cc
  unit/rpc/messages/metadata_test.cc
  unit/rpc/messages/name_glob_test.cc
  unit/rpc/messages/option_table_test.cc
  unit/rpc/messages/quantity_test.cc
  unit/rpc/messages/step_schedule_test.cc
  unit/rpc/messages/task_test.cc)
target_link_libraries(rpc_messages_test PRIVATE pp_rpc_messages GTest::gtest_main)
pp_target_defaults(rpc_messages_test)
set_target_properties(rpc_messages_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
gtest_discover_tests(rpc_messages_test TEST_PREFIX rpc_messages. PROPERTIES TIMEOUT 120)
