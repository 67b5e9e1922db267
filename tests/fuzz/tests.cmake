# pp_fuzzer(name SOURCES … DEPS … [CORPUS dir]): one fuzzer, a file with LLVMFuzzerTestOneInput.
#
# With -DPP_FUZZ=ON (preset `fuzz`: clang, and -fsanitize=fuzzer-no-link,address,undefined on everything) it becomes a
# libFuzzer executable: `./dev fuzz` runs each for a minute. Otherwise the same file is linked with replay_main.cc
# and CTest feeds it the corpus and seeded mutations of it, so that no fuzzer rots.
# Paths are relative to tests/. The corpus is tests/fuzz/corpus/<name> unless told.
option(PP_FUZZ "Build the fuzzers with libFuzzer (clang only)" OFF)
set(PP_FUZZ_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fuzz)

function(pp_fuzzer name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  pp_target_defaults(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PP_FUZZ_DIRECTORY})
  if(PP_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${name} -runs=2000 -seed=1 -rss_limit_mb=512)
  else()
    target_sources(${name} PRIVATE fuzz/replay_main.cc)
    add_test(NAME fuzz.${name} COMMAND ${name} ${ARG_CORPUS})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
endfunction()

# pp_fuzzer_if(target …): registers a fuzzer whose file and library are both in the tree.
function(pp_fuzzer_if name)
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;DEPS" ${ARGN})
  foreach(source ${ARG_SOURCES})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      return()
    endif()
  endforeach()
  foreach(library ${ARG_DEPS})
    if(NOT TARGET ${library})
      return()
    endif()
  endforeach()
  pp_fuzzer(${name} ${ARGN})
endfunction()

pp_fuzzer_if(fuzz_maps SOURCES fuzz/fuzz_maps.cc DEPS pp_attach_proc)
pp_fuzzer_if(fuzz_status SOURCES fuzz/fuzz_status.cc DEPS pp_attach_proc)
pp_fuzzer_if(fuzz_elf SOURCES fuzz/fuzz_elf.cc DEPS pp_symbolizer_elf)
pp_fuzzer_if(fuzz_layout SOURCES fuzz/fuzz_layout.cc DEPS pp_symbolizer_cpython)
pp_fuzzer_if(fuzz_line_table SOURCES fuzz/fuzz_line_table.cc DEPS pp_symbolizer_cpython)
pp_fuzzer_if(fuzz_objects SOURCES fuzz/fuzz_objects.cc DEPS pp_symbolizer_cpython)
pp_fuzzer_if(fuzz_frame_walker SOURCES fuzz/fuzz_frame_walker.cc DEPS pp_symbolizer_cpython)
pp_fuzzer_if(fuzz_trace_reader SOURCES fuzz/fuzz_trace_reader.cc DEPS pp_daemon_trace)
pp_fuzzer_if(fuzz_request SOURCES fuzz/fuzz_request.cc DEPS pp_daemon_trace)
