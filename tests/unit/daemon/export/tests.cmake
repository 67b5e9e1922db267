add_library(daemon_export_sample_trace STATIC EXCLUDE_FROM_ALL unit/daemon/export/sample_trace.cc)
pp_target_defaults(daemon_export_sample_trace)
target_link_libraries(daemon_export_sample_trace PUBLIC pp_daemon_trace fmt::fmt)

add_executable(daemon_export_test
  unit/daemon/export/calls_test.cc
  unit/daemon/export/execution_trace_test.cc
  unit/daemon/export/exporter_test.cc
  unit/daemon/export/kineto_test.cc
  unit/daemon/export/operator_flops_test.cc
  unit/daemon/export/operator_links_test.cc
  unit/daemon/export/operator_table_test.cc
  unit/daemon/export/operator_totals_test.cc
  unit/daemon/export/exporting.cc
  unit/daemon/export/golden_test.cc
  unit/daemon/export/gpu_test.cc
  unit/daemon/export/memory_ledger_test.cc
  unit/daemon/export/range_edges_test.cc
  unit/daemon/export/span_test.cc
  unit/daemon/export/window_filter_test.cc)
pp_target_defaults(daemon_export_test)
target_compile_definitions(daemon_export_test PRIVATE PP_GOLDEN_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}/golden")
target_link_libraries(daemon_export_test
  PRIVATE daemon_export_sample_trace pp_daemon_export pp_trace_proto GTest::gtest GTest::gtest_main)
gtest_discover_tests(daemon_export_test PROPERTIES TIMEOUT 120)
if(PP_SANITIZE)
  # std::regex under a sanitizer: GCC 12 falsely reports a member that may be uninitialised (GCC bug 105562).
  set_source_files_properties(unit/daemon/export/golden_test.cc
    PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
endif()
