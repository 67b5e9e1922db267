if(TARGET ptrace-prof)
  foreach(test cli cli_command cli_rights ps_doctor reasons top)
    add_test(NAME integration.${test} COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py)
    set_tests_properties(integration.${test} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
      ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PTRACE_PROFD_BIN=$<TARGET_FILE:ptrace-profd>;PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
