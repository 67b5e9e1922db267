# The doubles of CUDA's libraries: that they are what they claim. Tests of ours on them name PP_CUDA_DOUBLES too.
function(pp_cuda_double_test name timeout)
  add_test(NAME integration.${name} COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/${name}_test.py)
  set_tests_properties(integration.${name} PROPERTIES TIMEOUT ${timeout} SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
endfunction()
pp_cuda_double_test(cuda_double 600)
pp_cuda_double_test(cuda_double_oracle 600)
pp_cuda_double_test(cuda_headers 300)
pp_cuda_double_test(cuda_declarations 300)
pp_cuda_double_test(cuda_call_numbers 300)
