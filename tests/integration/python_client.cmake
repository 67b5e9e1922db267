# The Python client on every CPython that it supports, against build/bin/ptrace-profd, or where that is not built against
# a fake; which one it was is the first line of the output. The wheel is built once, from its own source distribution.
set(PP_CLIENT_PACKAGE ${PROJECT_BINARY_DIR}/python_client)
set(PP_CLIENT_ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PYTHONDONTWRITEBYTECODE=1")
if(TARGET ptrace-profd)
  list(APPEND PP_CLIENT_ENVIRONMENT "PTRACE_PROFD_BIN=$<TARGET_FILE:ptrace-profd>")
endif()

if(TARGET ptrace-prof)
  add_test(NAME integration.python_client.wheel
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/python_client_wheel_test.py ${PP_CLIENT_PACKAGE})
  set_tests_properties(integration.python_client.wheel PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
    FIXTURES_SETUP python_client_package ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
  add_test(NAME integration.python_client.notebook
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/python_client_notebook_test.py ${PP_CLIENT_PACKAGE})
  set_tests_properties(integration.python_client.notebook PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    LABELS integration FIXTURES_REQUIRED python_client_package ENVIRONMENT "${PP_CLIENT_ENVIRONMENT}")
  add_test(NAME integration.python_client.torch
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_client_test.py --python 3.11)
  set_tests_properties(integration.python_client.torch PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    LABELS integration FIXTURES_REQUIRED python_client_package
    ENVIRONMENT "${PP_CLIENT_ENVIRONMENT};PP_CLIENT_PACKAGE=${PP_CLIENT_PACKAGE}")
  foreach(minor ${PP_CLIENT_MINORS})
    add_test(NAME integration.python_client.${minor}
      COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/integration/python_client_test.py ${minor} ${PP_CLIENT_PACKAGE})
    set_tests_properties(integration.python_client.${minor} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      LABELS integration FIXTURES_REQUIRED python_client_package ENVIRONMENT "${PP_CLIENT_ENVIRONMENT}")
  endforeach()
endif()
