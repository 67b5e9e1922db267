# The recorder of CUPTI: loaded in place of a libcupti, under that one's name, which recorder.py gives to a copy.
add_library(cupti_recorder SHARED
  transcripts/recorder_calls.c transcripts/recorder_callbacks.c transcripts/recorder_line.c transcripts/recorder_names.c)
pp_double_options(cupti_recorder)
target_compile_definitions(cupti_recorder PRIVATE "PP_ARCHITECTURE=\"attach/target/shared/arch_${CMAKE_SYSTEM_PROCESSOR}.h\"")
set_target_properties(cupti_recorder PROPERTIES
  PREFIX "" SUFFIX "" OUTPUT_NAME cupti_recorder.so NO_SONAME ON LINKER_LANGUAGE C
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests
  LINK_OPTIONS "-Wl,-soname,libcupti.so.to-be-named-by-recorder.py;-Wl,--no-undefined;-Wl,-z,now")
target_link_libraries(cupti_recorder PRIVATE dl)
