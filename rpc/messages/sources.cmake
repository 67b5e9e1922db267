# Between messages and the requests of captures, for both ends of a connection. Knows no gRPC.
pp_library(rpc/messages
  SOURCES messages/idle_policy_message.cc messages/request_from_message.cc messages/spec_message.cc
  DEPS pp_rpc_proto pp_daemon_trace pp_attach_base)
