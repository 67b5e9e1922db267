# The commands as a library, so that unit tests can link them; embedded.cc adds the collector.
pp_library(client/cli
  SOURCES
    cli/admin/audit_command.cc
    cli/admin/audit_file.cc
    cli/admin/audit_line.cc
    cli/admin/audit_view.cc
    cli/captures/capture_actions.cc
    cli/captures/capture_choice.cc
    cli/captures/captures_command.cc
    cli/captures/captures_text.cc
    cli/chosen_backend.cc
    cli/command.cc
    cli/command_line.cc
    cli/command_pattern.cc
    cli/record/command_status.cc
    cli/completion.cc
    cli/completion_command.cc
    cli/admin/daemon_command.cc
    cli/admin/daemon_text.cc
    cli/inspect/doctor_command.cc
    cli/inspect/doctor_text.cc
    cli/inspect/dump_command.cc
    cli/inspect/dump_json.cc
    cli/inspect/dump_text.cc
    cli/embedded.cc
    cli/exit_code.cc
    cli/export/export_command.cc cli/export/table_command.cc cli/export/export_file.cc
    cli/export/export_options.cc
    cli/help_format.cc
    cli/inspect/answer_stream.cc
    cli/inspect/inspection.cc
    cli/inspect/inspection_json.cc
    cli/interrupts.cc
    cli/later_flags.cc
    cli/messages.cc
    cli/inspect/named_target.cc
    cli/process_id.cc
    cli/record/progress.cc
    cli/inspect/ps_command.cc
    cli/inspect/ps_table.cc
    cli/record/record_command.cc
    cli/record/record_detached.cc
    cli/record/record_plan.cc
    cli/record/record_run.cc
    cli/record/trace_ready.cc
    cli/export/source_file.cc
    cli/record/spec_options.cc
    cli/record/suspension.cc
    cli/record/spool_file.cc
    cli/top/top_blocks.cc
    cli/top/top_command.cc
    cli/top/top_counts.cc
    cli/top/top_live.cc
    cli/top/top_model.cc
    cli/top/top_pages.cc
    cli/top/top_rows.cc
    cli/top/top_screen.cc
    cli/top/top_session.cc
    cli/top/top_text.cc
    cli/record/totals_text.cc
    cli/record/trace_spooler.cc
    cli/user_names.cc
  DEPS pp_daemon_server_manual pp_client_remote pp_daemon_server_service pp_daemon_export pp_daemon_trace pp_daemon_collector_main pp_daemon_server_captures
       pp_rpc pp_attach_base pp_ncurses)
target_compile_definitions(pp_client_cli PRIVATE PP_VERSION="${PROJECT_VERSION}")
add_executable(ptrace-prof cli/main.cc)
target_link_libraries(ptrace-prof PRIVATE pp_client_cli)
pp_target_defaults(ptrace-prof)
