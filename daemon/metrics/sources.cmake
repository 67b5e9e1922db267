pp_library(daemon/metrics
  SOURCES metrics/capture_metrics.cc metrics/http_request.cc metrics/metrics_text.cc metrics/process_metrics.cc
          metrics/scrape_server.cc
  DEPS pp_daemon_session pp_attach_base fmt::fmt)
target_compile_definitions(pp_daemon_metrics PRIVATE PP_VERSION="${PROJECT_VERSION}")
