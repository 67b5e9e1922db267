add_executable(read_cost_bench read_cost_bench.cc)
target_link_libraries(read_cost_bench PRIVATE pp_daemon_collector benchmark::benchmark)
pp_target_defaults(read_cost_bench)
add_executable(rpc_bench EXCLUDE_FROM_ALL rpc_bench.cc empty_server.cc ../tests/unit/daemon/server/service/serving.cc
  ../tests/unit/daemon/server/captures/fake_collector.cc ../tests/unit/rpc/made_certificates.cc
  ../tests/unit/symbolizer/cpython/interpreters.cc)
target_link_libraries(rpc_bench PRIVATE pp_daemon_server_service GTest::gtest)
pp_target_defaults(rpc_bench)
set_target_properties(rpc_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
