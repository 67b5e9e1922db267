add_executable(symbolizer_cpython_test
  unit/symbolizer/cpython/interpreters.cc
  unit/symbolizer/cpython/debug_offsets_test.cc
  unit/symbolizer/cpython/layout_test.cc
  unit/symbolizer/cpython/line_table_test.cc
  unit/symbolizer/cpython/object_reader_test.cc
  unit/symbolizer/cpython/pending_calls_test.cc
  unit/symbolizer/cpython/python_process_test.cc
  unit/symbolizer/cpython/thread_stack_test.cc
  unit/symbolizer/cpython/version_finder_test.cc
  unit/symbolizer/cpython/version_table_test.cc)
target_link_libraries(symbolizer_cpython_test PRIVATE pp_symbolizer_cpython GTest::gtest_main)
target_compile_definitions(symbolizer_cpython_test PRIVATE
  PP_CPYTHON_VERSIONS="${PP_CPYTHON_VERSIONS}"
  PP_LINE_TABLE_DUMP="${CMAKE_CURRENT_SOURCE_DIR}/unit/symbolizer/cpython/line_table_dump.py"
  PP_OBJECTS_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/unit/symbolizer/cpython/objects.py"
  PP_PENDING_PROBE="${CMAKE_CURRENT_SOURCE_DIR}/unit/symbolizer/cpython/pending_probe.c"
  PP_LAYOUT_PROBE="${CMAKE_CURRENT_SOURCE_DIR}/unit/symbolizer/cpython/layout_probe.c")
pp_target_defaults(symbolizer_cpython_test)
include(GoogleTest)
# The interpreters of the machine are searched for when the tests run, not at build time.
gtest_discover_tests(symbolizer_cpython_test DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
