# gRPC set-up and what server and client share; knows no profiler.
pp_library(rpc
  SOURCES arrival_rate.cc call_guard.cc call_metadata.cc channel.cc connection_server.cc crc32c.cc default_socket.cc in_process_server.cc library_hold.cc library_log.cc
          munge_binding.cc munge_credential.cc munge_worker.cc munge_verifier.cc peer_certificate.cc peer_credentials.cc reflection.cc refusing_service.cc socket_calls.cc status.cc tcp_socket.cc
          tls_connection.cc tls_door.cc tls_server.cc tls_trouble.cc tls_trust.cc unix_listener.cc user_memory.cc unix_socket.cc
  DEPS pp_rpc_proto pp_attach_base)
target_link_libraries(pp_rpc PRIVATE pp_munge)
