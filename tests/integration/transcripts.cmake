# The double of libcupti against what the real one did (tests/transcripts); and that what compares them finds differences.
function(pp_transcripts_test name)
  add_test(NAME integration.${name} COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/transcripts_test.py ${ARGN})
  set_tests_properties(integration.${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
    ENVIRONMENT "PP_GPU_DRIVER=$<TARGET_FILE:gpu_driver>;PP_CUPTI_RECORDER=$<TARGET_FILE:cupti_recorder>;PP_CUDA_DOUBLES=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda;PYTHONDONTWRITEBYTECODE=1")
endfunction()
pp_transcripts_test(transcripts Comparer Scenarios Recorder)
pp_transcripts_test(transcripts_of_real_cupti Double)
# The command that records them, with doubles in the place of real libraries.
add_test(NAME integration.on_a_gpu COMMAND ${PP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/integration/on_a_gpu_test.py)
set_tests_properties(integration.on_a_gpu PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS integration
  ENVIRONMENT "PP_PROGRAMS=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
