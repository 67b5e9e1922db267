# ptrace-profd as a program; daemon/main.cc plugs it together.
pp_library(daemon/program
  SOURCES program/audit_log.cc program/daemon_log.cc program/daemon_options.cc program/daemon_user.cc program/descriptor_shares.cc program/door_adapter.cc program/drain.cc program/logged_starter.cc program/metrics_socket.cc
          program/passed_socket.cc program/policy_gate.cc program/policy_source.cc program/remote_callers.cc program/service_notice.cc program/spool_folder.cc program/system_call_wall.cc program/termination.cc
  DEPS pp_daemon_manual pp_daemon_session pp_daemon_policy pp_attach_proc pp_rpc pp_attach_base pp_spdlog)
target_compile_definitions(pp_daemon_program PRIVATE PP_VERSION="${PROJECT_VERSION}")
add_executable(ptrace-profd main.cc peer_services.cc)
target_link_libraries(ptrace-profd PRIVATE pp_daemon_program pp_daemon_metrics pp_daemon_service pp_daemon_collector pp_rpc)
pp_target_defaults(ptrace-profd)
