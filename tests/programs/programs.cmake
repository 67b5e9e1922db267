# Small programs of the tests' own, on single parts of ours.
add_executable(inject_driver programs/inject_driver.cc)
target_link_libraries(inject_driver PRIVATE pp_daemon_collector pp_attach_inject)
pp_target_defaults(inject_driver)
set_target_properties(inject_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_executable(call_replay_dump programs/call_replay_dump.cc)
target_link_libraries(call_replay_dump PRIVATE pp_daemon_collector)
pp_target_defaults(call_replay_dump)
set_target_properties(call_replay_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_executable(gpu_driver programs/gpu_driver.cc)
target_link_libraries(gpu_driver PRIVATE pp_daemon_collector pp_attach_inject)
pp_target_defaults(gpu_driver)
set_target_properties(gpu_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_executable(gpu_trace_dump programs/gpu_trace_dump.cc)
target_link_libraries(gpu_trace_dump PRIVATE pp_daemon_trace)
pp_target_defaults(gpu_trace_dump)
set_target_properties(gpu_trace_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_executable(exec_stamp programs/exec_stamp.c)
set_target_properties(exec_stamp PROPERTIES C_STANDARD 11 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

add_executable(schedule_dump programs/schedule_dump.cc)
target_link_libraries(schedule_dump PRIVATE pp_rpc_messages fmt::fmt)
pp_target_defaults(schedule_dump)
set_target_properties(schedule_dump PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
