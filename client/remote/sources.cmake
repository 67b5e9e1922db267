pp_library(client/remote
  SOURCES remote/inspection_trace.cc remote/record_stream.cc remote/rpc_backend.cc remote/spec_message.cc
  DEPS pp_rpc pp_daemon_trace pp_attach_base)
