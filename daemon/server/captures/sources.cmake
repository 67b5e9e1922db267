pp_library(daemon/server/captures
  SOURCES server/captures/capture_admission.cc server/captures/capture_record.cc server/captures/capture_registry.cc server/captures/capture_retention.cc server/captures/capture_session.cc server/captures/capture_shelf.cc
          server/captures/capture_table.cc server/captures/collector_process.cc server/captures/cpu_budget.cc
          server/captures/excess_traces.cc server/captures/kept_listings.cc server/captures/launcher_connection.cc server/captures/launcher_door.cc server/captures/launcher_starter.cc server/captures/local_starter.cc server/captures/random_id.cc server/captures/start_pool.cc server/captures/stop_shares.cc server/captures/trace_spool.cc
  DEPS pp_daemon_collector_sandbox pp_daemon_launcher pp_daemon_server_policy pp_daemon_trace pp_attach_base)
