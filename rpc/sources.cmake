# gRPC set-up and what server and client share; knows no profiler.
pp_library(rpc
  SOURCES status.cc
  DEPS pp_rpc_proto pp_attach_base)
