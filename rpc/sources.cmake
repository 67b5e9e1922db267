# gRPC set-up and what server and client share; knows no profiler.
pp_library(rpc
  SOURCES channel.cc connection_server.cc crc32c.cc default_socket.cc in_process_server.cc library_hold.cc library_log.cc
          peer_credentials.cc reflection.cc refusing_service.cc status.cc unix_listener.cc
          unix_socket.cc
  DEPS pp_rpc_proto pp_attach_base)
