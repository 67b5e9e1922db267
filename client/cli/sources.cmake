# The commands as a library, so that unit tests can link them; embedded.cc brings the collector in.
pp_library(client/cli
  SOURCES
    cli/audit_command.cc
    cli/audit_file.cc
    cli/audit_line.cc
    cli/audit_view.cc
    cli/capture_actions.cc
    cli/capture_choice.cc
    cli/captures_command.cc
    cli/captures_text.cc
    cli/chosen_backend.cc
    cli/command.cc
    cli/command_line.cc
    cli/command_pattern.cc
    cli/command_status.cc
    cli/completion.cc
    cli/completion_command.cc
    cli/daemon_command.cc
    cli/daemon_text.cc
    cli/doctor_command.cc
    cli/doctor_text.cc
    cli/dump_command.cc
    cli/dump_json.cc
    cli/dump_text.cc
    cli/embedded.cc
    cli/exit_code.cc
    cli/export_command.cc
    cli/export_options.cc
    cli/help_format.cc
    cli/inspection.cc
    cli/inspection_json.cc
    cli/interrupts.cc
    cli/later_flags.cc
    cli/messages.cc
    cli/named_target.cc
    cli/process_id.cc
    cli/progress.cc
    cli/ps_command.cc
    cli/ps_table.cc
    cli/record_command.cc
    cli/record_detached.cc
    cli/record_plan.cc
    cli/record_run.cc
    cli/source_file.cc
    cli/spec_options.cc
    cli/suspension.cc
    cli/spool_file.cc
    cli/top_blocks.cc
    cli/top_command.cc
    cli/top_counts.cc
    cli/top_live.cc
    cli/top_model.cc
    cli/top_pages.cc
    cli/top_rows.cc
    cli/top_screen.cc
    cli/top_session.cc
    cli/top_text.cc
    cli/totals_text.cc
    cli/trace_spooler.cc
    cli/user_names.cc
  DEPS pp_daemon_server_manual pp_client_remote pp_daemon_server_service pp_daemon_export pp_daemon_trace pp_daemon_collector_main pp_daemon_server_captures
       pp_rpc pp_attach_base pp_ncurses)
target_compile_definitions(pp_client_cli PRIVATE PP_VERSION="${PROJECT_VERSION}")
add_executable(ptrace-prof cli/main.cc)
target_link_libraries(ptrace-prof PRIVATE pp_client_cli)
pp_target_defaults(ptrace-prof)
