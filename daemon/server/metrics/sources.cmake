pp_library(daemon/server/metrics
  SOURCES server/metrics/capture_metrics.cc server/metrics/http_request.cc server/metrics/metrics_text.cc server/metrics/process_metrics.cc
          server/metrics/scrape_server.cc
  DEPS pp_daemon_server_captures pp_attach_base fmt::fmt)
target_compile_definitions(pp_daemon_server_metrics PRIVATE PP_VERSION="${PROJECT_VERSION}")
