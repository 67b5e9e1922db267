# The way into a target and out again, by inject_driver (tests/programs). PTRACE_PROF_INJECTIONS and PTRACE_PROF_KILLS
# say how often; the default is a slice.
foreach(minor ${PP_MINORS} ${PP_FREE_THREADED_MINORS})
  add_test(NAME integration.inject.${minor}
    COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/inject_test.py --python ${minor})
  set_tests_properties(integration.inject.${minor} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_INJECT_DRIVER=$<TARGET_FILE:inject_driver>;PYTHONDONTWRITEBYTECODE=1")
endforeach()
