# Small programs of the tests' own, on single parts of ours.
add_executable(inject_driver programs/inject_driver.cc)
target_link_libraries(inject_driver PRIVATE pp_daemon_collect pp_attach_inject)
pp_target_defaults(inject_driver)
set_target_properties(inject_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
