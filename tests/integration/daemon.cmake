# ptrace-profd itself, on sockets of the tests' own.
add_executable(daemon_probe integration/daemon_probe.cc)
target_link_libraries(daemon_probe PRIVATE pp_rpc fmt::fmt)
pp_target_defaults(daemon_probe)
set_target_properties(daemon_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
set(PP_DAEMON_ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>" "PTRACE_PROFD_BIN=$<TARGET_FILE:ptrace-profd>"
  "PP_DAEMON_PROBE=$<TARGET_FILE:daemon_probe>" "PYTHONDONTWRITEBYTECODE=1")
add_test(NAME integration.daemon
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/daemon_test.py --any)
set_tests_properties(integration.daemon PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
foreach(test daemon_life daemon_spool daemon_flood daemon_shares http2_limits shared_target)
  add_test(NAME integration.${test} COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py --any)
  set_tests_properties(integration.${test} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
endforeach()
add_test(NAME integration.systemd COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/systemd_test.py)
set_tests_properties(integration.systemd PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME integration.install COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/install_test.py)
set_tests_properties(integration.install PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PP_BUILD_DIR=${PROJECT_BINARY_DIR};PP_INSTALL_PREFIX=${CMAKE_INSTALL_PREFIX};PYTHONDONTWRITEBYTECODE=1")
add_test(NAME integration.authorisation
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/authorisation_test.py --any)
set_tests_properties(integration.authorisation PROPERTIES TIMEOUT 400 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME integration.real_yama COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/real_yama_test.py)
set_tests_properties(integration.real_yama PROPERTIES TIMEOUT 1000 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME integration.policy
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/policy_test.py --any)
set_tests_properties(integration.policy PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_executable(daemon_crowd integration/daemon_crowd.cc)
target_link_libraries(daemon_crowd PRIVATE pp_rpc pp_daemon_trace fmt::fmt)
pp_target_defaults(daemon_crowd)
set_target_properties(daemon_crowd PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
add_test(NAME soak.daemon_load COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/soak/daemon_load.py)
set_tests_properties(soak.daemon_load PROPERTIES SKIP_RETURN_CODE 77 LABELS soak
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT};PP_DAEMON_CROWD=$<TARGET_FILE:daemon_crowd>")
add_test(NAME soak.week COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/soak/week.py)
add_test(NAME soak.races COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/soak/races.py)
set_tests_properties(soak.races soak.week PROPERTIES SKIP_RETURN_CODE 77 LABELS soak ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME integration.tls COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/tls_test.py --any)
add_test(NAME integration.hostile_environment
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/hostile_environment_test.py --any)
add_test(NAME integration.munge COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/munge_test.py --any)
set_tests_properties(integration.munge PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  FIXTURES_REQUIRED python_client_package
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT};PP_CLIENT_PACKAGE=${PROJECT_BINARY_DIR}/python_client")
add_test(NAME fuzz.http2_garbage COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/http2_garbage.py --seconds 10)
set_tests_properties(integration.tls integration.hostile_environment fuzz.http2_garbage PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME soak.daemon_kill COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/soak/daemon_kill.py)
set_tests_properties(soak.daemon_kill PROPERTIES SKIP_RETURN_CODE 77 LABELS soak ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
add_test(NAME integration.both_ways COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/both_ways_test.py)
set_tests_properties(integration.both_ways PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "${PP_DAEMON_ENVIRONMENT};PP_OPTIONS_REACH=$<TARGET_FILE:options_reach>")
foreach(test bad_names captures manual metrics operate record_name)
  add_test(NAME integration.${test} COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py)
  set_tests_properties(integration.${test} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "${PP_DAEMON_ENVIRONMENT}")
endforeach()
add_executable(options_reach integration/options_reach.cc)
target_link_libraries(options_reach PRIVATE pp_daemon_trace pp_rpc_messages fmt::fmt)
pp_target_defaults(options_reach)
set_target_properties(options_reach PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
