pp_library(client/remote
  SOURCES remote/batch_message.cc remote/capture_client.cc remote/daemon_question.cc remote/inspection_trace.cc remote/record_stream.cc
          remote/retries.cc remote/rpc_backend.cc remote/samples_stream.cc remote/state_message.cc remote/trace_fetch.cc
  DEPS pp_rpc_messages pp_rpc pp_daemon_trace pp_attach_base)
