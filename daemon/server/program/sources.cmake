# ptrace-profd as a program; daemon/main.cc assembles it.
pp_library(daemon/server/program
  SOURCES server/program/audit_log.cc server/program/caller_audit.cc server/program/daemon_log.cc server/program/daemon_options.cc server/program/daemon_user.cc server/program/descriptor_shares.cc server/program/door_adapter.cc server/program/drain.cc server/program/logged_starter.cc server/program/metrics_socket.cc
          server/program/passed_socket.cc server/program/policy_gate.cc server/program/policy_source.cc server/program/remote_callers.cc server/program/service_notice.cc server/program/spool_folder.cc server/program/system_call_wall.cc server/program/termination.cc
  DEPS pp_daemon_server_manual pp_daemon_server_captures pp_daemon_server_policy pp_attach_proc pp_rpc pp_attach_base pp_spdlog)
target_compile_definitions(pp_daemon_server_program PRIVATE PP_VERSION="${PROJECT_VERSION}")
add_executable(ptrace-profd main.cc peer_services.cc)
target_link_libraries(ptrace-profd PRIVATE pp_daemon_server_program pp_daemon_server_metrics pp_daemon_server_service pp_daemon_collector_main pp_rpc)
pp_target_defaults(ptrace-profd)
