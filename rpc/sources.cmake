# gRPC set-up and shared parts of server and client; independent of the profiler.
pp_library(rpc
  SOURCES tls/arrival_rate.cc connection/call_guard.cc call_metadata.cc channel.cc connection/connection_server.cc connection/crc32c.cc unix/default_socket.cc in_process_server.cc connection/library_hold.cc library_log.cc
          munge/munge_binding.cc munge/munge_credential.cc munge/munge_worker.cc munge/munge_verifier.cc tls/peer_certificate.cc unix/peer_credentials.cc connection/reflection.cc connection/refusing_service.cc connection/socket_calls.cc connection/status.cc tls/tcp_socket.cc
          tls/tls_connection.cc tls/tls_door.cc tls/tls_server.cc tls/tls_trouble.cc tls/tls_trust.cc unix/unix_listener.cc connection/user_memory.cc unix/unix_socket.cc
  DEPS pp_rpc_proto pp_attach_base)
target_link_libraries(pp_rpc PRIVATE pp_munge)
