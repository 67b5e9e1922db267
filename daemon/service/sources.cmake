pp_library(daemon/service
  SOURCES
    service/answer_at_end.cc
    service/batch_parts.cc
    service/capture_calls.cc
    service/capture_message.cc
    service/capture_service.cc
    service/check_message.cc
    service/daemon_status.cc
    service/dump_answer.cc
    service/listing.cc
    service/node_service.cc
    service/profiler_service.cc
    service/routed_profiler.cc
    service/samples_call.cc
    service/trace_cursor.cc
  DEPS pp_daemon_session pp_daemon_export pp_daemon_trace pp_rpc_messages pp_rpc pp_attach_base)
target_compile_definitions(pp_daemon_service PRIVATE PP_VERSION="${PROJECT_VERSION}")
