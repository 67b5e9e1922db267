include(integration/cli.cmake OPTIONAL)
include(integration/perfetto.cmake OPTIONAL)
include(integration/export.cmake OPTIONAL)
include(integration/python_client.cmake OPTIONAL)

# Tests of the whole program on real interpreters: Python scripts (tests/support is their library) that run ptrace-prof.
# One CTest entry per script and minor version; 77 = that minor is not available on this machine. The soak tests run a
# part here, and at full length with PTRACE_PROF_SOAK=1 (./dev soak).
find_program(PP_TEST_PYTHON NAMES python3 REQUIRED)

function(pp_script_test name timeout labels)
  add_test(NAME ${name} COMMAND ${PP_TEST_PYTHON} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${labels}"
    ENVIRONMENT "PTRACE_PROF_BIN=$<TARGET_FILE:ptrace-prof>;PP_HOSTILE_RUNTIME=$<TARGET_FILE:hostile_runtime>;PYTHONDONTWRITEBYTECODE=1")
  if(timeout)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
  endif()
endfunction()

if(TARGET ptrace-prof)
  add_executable(hostile_runtime targets/hostile_runtime.c)
  target_link_libraries(hostile_runtime PRIVATE Threads::Threads)
  set_target_properties(hostile_runtime PROPERTIES ENABLE_EXPORTS ON C_STANDARD 11
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)

  foreach(test lines many_threads_trace shapes states children executables unharmed recordings trace_filter trace_greenlets trace_mode trace_names trace_refusals
      trace_semantics trace_start trace_suites trace_throttle trace_waits trace_window)
    foreach(minor ${PP_MINORS})
      pp_script_test(integration.${test}.${minor} 600 integration
        ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py --python ${minor})
    endforeach()
  endforeach()
  foreach(test lines many_threads_trace shapes states unharmed recordings trace_filter trace_mode trace_names trace_semantics trace_throttle trace_window)
    foreach(minor ${PP_FREE_THREADED_MINORS})
      pp_script_test(integration.${test}.${minor} 600 integration
        ${CMAKE_CURRENT_SOURCE_DIR}/integration/${test}_test.py --python ${minor})
    endforeach()
  endforeach()
  pp_script_test(integration.gpu_counters 300 integration ${CMAKE_CURRENT_SOURCE_DIR}/integration/gpu_counters_test.py --any)
  set_property(TEST integration.gpu_counters APPEND PROPERTY
    ENVIRONMENT "PP_FAKE_NVML=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/doubles/nvml")
  pp_script_test(integration.many_threads 600 integration ${CMAKE_CURRENT_SOURCE_DIR}/integration/many_threads_test.py --any)
  pp_script_test(integration.job_limits 600 integration ${CMAKE_CURRENT_SOURCE_DIR}/integration/job_limits_test.py --any)
  pp_script_test(integration.containers 600 integration ${CMAKE_CURRENT_SOURCE_DIR}/integration/containers_test.py --any)

  foreach(minor 3.11 3.13 3.14)
    pp_script_test(integration.torch_operators.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_operators_test.py --python ${minor} Operators Misled Refused)
    pp_script_test(integration.torch_jobs.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_jobs_test.py --python ${minor})
    pp_script_test(integration.torch_memory.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_memory_test.py --python ${minor})
    pp_script_test(integration.torch_timeline.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_timeline_test.py --python ${minor})
    pp_script_test(integration.torch_steps.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_steps_test.py --python ${minor})
    pp_script_test(integration.torch_consumers.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_consumers_test.py --python ${minor})
    pp_script_test(integration.torch_late.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_late_test.py --python ${minor})
    pp_script_test(soak.torch_late.${minor} "" soak
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_late_test.py --python ${minor} Started)
    pp_script_test(soak.torch.${minor} "" soak
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_operators_test.py --python ${minor} Killed)
  endforeach()
  # They take minutes; other versions are in ./dev soak torch.
  foreach(minor 3.11 3.14)
    pp_script_test(integration.torch_execution_trace.${minor} 600 integration
      ${CMAKE_CURRENT_SOURCE_DIR}/integration/torch_execution_trace_test.py --python ${minor})
  endforeach()

  foreach(soak kill fate execs hostile fidelity bias memory crowd trace_cycles)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/soak/${soak}.py)
      pp_script_test(soak.${soak} "" soak ${CMAKE_CURRENT_SOURCE_DIR}/soak/${soak}.py)
    endif()
  endforeach()
  pp_script_test(soak.truth "" "soak;truth" ${CMAKE_CURRENT_SOURCE_DIR}/truth/truth.py)
  # It measures shares of time, so nothing else may run meanwhile.
  set_tests_properties(soak.truth PROPERTIES RUN_SERIAL TRUE)
  set_property(TEST soak.kill APPEND PROPERTY ENVIRONMENT "PP_INJECT_DRIVER=$<TARGET_FILE:inject_driver>")
  set_property(TEST soak.execs APPEND PROPERTY ENVIRONMENT "PP_EXEC_STAMP=$<TARGET_FILE:exec_stamp>")
endif()
include(integration/daemon.cmake)
include(integration/stub.cmake)
include(integration/call_replay.cmake)
include(integration/inject.cmake)
include(integration/cuda_double.cmake)
include(integration/gpu_shim.cmake)
include(integration/gpu_record.cmake)
include(integration/transcripts.cmake)
