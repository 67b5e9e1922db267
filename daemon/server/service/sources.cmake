pp_library(daemon/server/service
  SOURCES
    server/service/answer_at_end.cc
    server/service/batch_parts.cc
    server/service/capture_calls.cc
    server/service/capture_message.cc
    server/service/capture_service.cc
    server/service/check_message.cc
    server/service/daemon_status.cc
    server/service/dump_answer.cc
    server/service/listing.cc
    server/service/node_service.cc
    server/service/profiler_service.cc
    server/service/routed_profiler.cc
    server/service/samples_call.cc
    server/service/trace_cursor.cc
  DEPS pp_daemon_server_captures pp_daemon_export pp_daemon_trace pp_rpc_messages pp_rpc pp_attach_base)
target_compile_definitions(pp_daemon_server_service PRIVATE PP_VERSION="${PROJECT_VERSION}")
