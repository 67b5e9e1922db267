# Replayed calls against what the interpreters themselves say, by call_replay_dump (tests/programs).
foreach(minor ${PP_MINORS} ${PP_FREE_THREADED_MINORS})
  add_test(NAME integration.call_replay.${minor}
    COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/call_replay_test.py --python ${minor})
  set_tests_properties(integration.call_replay.${minor} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_CALL_REPLAY_DUMP=$<TARGET_FILE:call_replay_dump>;PYTHONDONTWRITEBYTECODE=1")
endforeach()
