# The GPU shim in jobs on the doubles of CUDA, by gpu_driver (tests/programs): what is CPython's for each version, the rest once.
foreach(minor ${PP_MINORS} ${PP_FREE_THREADED_MINORS} once)
  if(minor STREQUAL once)
    set(part --any Buffers Refusals Captures Troubles)
  else()
    set(part --python ${minor} Records)
  endif()
  add_test(NAME integration.gpu_shim.${minor}
    COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/gpu_shim_test.py ${part})
  set_tests_properties(integration.gpu_shim.${minor} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_GPU_DRIVER=$<TARGET_FILE:gpu_driver>;PP_INJECT_DRIVER=$<TARGET_FILE:inject_driver>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
endforeach()
# CUPTI's versions, not CPython's: once.
add_test(NAME integration.gpu_policy COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/gpu_policy_test.py --any)
set_tests_properties(integration.gpu_policy PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_GPU_DRIVER=$<TARGET_FILE:gpu_driver>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
add_test(NAME integration.gpu_real_cupti
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/gpu_real_cupti_test.py --any)
set_tests_properties(integration.gpu_real_cupti PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_GPU_DRIVER=$<TARGET_FILE:gpu_driver>;PYTHONDONTWRITEBYTECODE=1")
