# `record --gpu` against the doubles of CUDA's libraries: what is CPython's for each version, the rest once.
foreach(minor ${PP_MINORS} ${PP_FREE_THREADED_MINORS} once)
  if(minor STREQUAL once)
    set(part --any WhateverPython)
  else()
    set(part --python ${minor} GpuRecord)
  endif()
  add_test(NAME integration.gpu_record.${minor}
    COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/gpu_record_test.py ${part})
  set_tests_properties(integration.gpu_record.${minor} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PTRACE_PROFD_BIN=$<TARGET_FILE:ptrace-profd>;PP_GPU_TRACE_DUMP=$<TARGET_FILE:gpu_trace_dump>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PP_FAKE_NVML=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/doubles/nvml;PYTHONDONTWRITEBYTECODE=1")
endforeach()
# The same with the faults of the doubles, and with jobs of all sorts: once, as these are CUPTI's and not CPython's.
foreach(part gpu_faults gpu_detail gpu_nvtx gpu_anywhere gpu_shared)
  add_test(NAME integration.${part}
    COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${part}_test.py --any)
  set_tests_properties(integration.${part} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PTRACE_PROFD_BIN=$<TARGET_FILE:ptrace-profd>;PP_DAEMON_PROBE=$<TARGET_FILE:daemon_probe>;PP_GPU_TRACE_DUMP=$<TARGET_FILE:gpu_trace_dump>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
endforeach()
# With Debian's PyTorch on CPython 3.11: what its operators launch.
add_test(NAME integration.torch_gpu
  COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_gpu_test.py --python 3.11)
set_tests_properties(integration.torch_gpu PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_GPU_TRACE_DUMP=$<TARGET_FILE:gpu_trace_dump>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
