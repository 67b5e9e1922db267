pp_library(daemon/session
  SOURCES session/capture_record.cc session/capture_registry.cc session/capture_session.cc session/capture_shelf.cc session/child_policy.cc session/collector_process.cc session/command_launch.cc session/confinement.cc session/cpu_budget.cc
          session/excess_traces.cc session/kept_listings.cc session/launcher_connection.cc session/launcher_door.cc session/launcher_starter.cc session/local_starter.cc session/owner_child.cc
          session/pipe_sink.cc session/random_id.cc
          session/rights.cc session/start_pool.cc session/stop_line.cc session/stop_shares.cc session/system_call_filter.cc session/trace_spool.cc
  DEPS pp_daemon_launcher pp_daemon_policy pp_daemon_trace pp_attach_base)
# The composition root of the collector, and with it everything that may touch a target.
pp_library(daemon/collector
  SOURCES collector_main.cc
  DEPS pp_daemon_session pp_daemon_inspect pp_daemon_collect pp_daemon_trace pp_attach_proc pp_attach_base)
