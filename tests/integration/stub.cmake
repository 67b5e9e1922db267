# The tracer stub, played the collector to by scripts in the interpreter itself; and the built file.
add_executable(stub_layout integration/stub_layout.cc)
target_link_libraries(stub_layout PRIVATE pp_daemon_collector)
pp_target_defaults(stub_layout)
set_target_properties(stub_layout PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
add_dependencies(stub_layout pp_stub pp_gpu_shim)

function(pp_stub_test name timeout)
  pp_script_test(integration.${name} ${timeout} integration ${ARGN})
  set_property(TEST integration.${name} APPEND PROPERTY ENVIRONMENT
    "PP_STUB=$<TARGET_FILE:pp_stub>" "PP_STUB_LAYOUT=$<TARGET_FILE:stub_layout>")
endfunction()
pp_stub_test(stub_file 60 ${CMAKE_CURRENT_SOURCE_DIR}/integration/stub_file_test.py)
pp_stub_test(stub_architectures 120 ${CMAKE_CURRENT_SOURCE_DIR}/integration/stub_architectures_test.py)
foreach(minor ${PP_MINORS} ${PP_FREE_THREADED_MINORS})
  pp_stub_test(stub.${minor} 600 ${CMAKE_CURRENT_SOURCE_DIR}/integration/stub_test.py --python ${minor})
endforeach()
