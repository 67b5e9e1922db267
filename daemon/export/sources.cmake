# The parts of the HTML page, as C++ sources: see viewer_assets.h.
function(pp_viewer_asset symbol)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cc)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/export/viewer/ OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${symbol} "-DFILES=${files}" -P ${CMAKE_CURRENT_SOURCE_DIR}/export/embed.cmake
    DEPENDS ${files} ${CMAKE_CURRENT_SOURCE_DIR}/export/embed.cmake
    COMMENT "Embedding ${symbol}"
    VERBATIM)
  set(PP_VIEWER_SOURCES ${PP_VIEWER_SOURCES} ${out} PARENT_SCOPE)
endfunction()
pp_viewer_asset(kViewerPage page.html)
pp_viewer_asset(kViewerStyle third_party/d3-flame-graph.css style.css)
pp_viewer_asset(kViewerScript third_party/d3-flame-graph.js model.js paint.js gpu.js lanes.js timeline.js graph.js app.js)
pp_viewer_asset(kViewerLicenses third_party/LICENSES)
pp_viewer_asset(kFlameScript flame_svg.js)

pp_library(daemon/export
  SOURCES
    export/call_table.cc
    export/chrome_exporter.cc
    export/collapsed_exporter.cc
    export/execution_trace_exporter.cc export/exporter.cc
    export/function_table.cc
    export/gpu_facts.cc
    export/gpu_idle.cc
    export/gpu_lanes.cc
    export/gpu_tables.cc
    export/gpu_totals.cc
    export/html_exporter.cc
    export/kineto_gpu.cc
    export/kineto_writer.cc
    export/memory_categories.cc export/memory_curve.cc export/memory_ledger.cc export/memory_page.cc
    export/memory_report.cc
    export/memory_peak.cc export/memory_timeline_exporter.cc export/tensor_table.cc export/thread_stacks.cc
    export/number_text.cc export/kineto_operators.cc export/operator_flops.cc export/operator_groups.cc
    export/operator_links.cc
    export/operator_table.cc export/operator_totals.cc
    export/output.cc
    export/page_counters.cc
    export/page_gpu.cc
    export/page_tree.cc
    export/pprof_exporter.cc
    export/python_calls.cc
    export/range_edges.cc
    export/recording.cc
    export/span_feed.cc
    export/span_spool.cc
    export/speedscope_exporter.cc
    export/svg_exporter.cc
    export/text_exporter.cc
    export/trace_copy.cc export/window_filter.cc
    ${PP_VIEWER_SOURCES}
  DEPS pp_daemon_trace fmt::fmt ZLIB::ZLIB)
