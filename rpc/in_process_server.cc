#include "rpc/in_process_server.h"

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "rpc/connection/message_limits.h"

namespace ptrace_prof {
namespace {

std::unique_ptr<grpc::Server> Build(const std::vector<grpc::Service*>& services) {
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  return builder.BuildAndStart();
}

}  // namespace

InProcessServer::InProcessServer(const std::vector<grpc::Service*>& services) : server_(Build(services)) {}

InProcessServer::~InProcessServer() { server_->Shutdown(std::chrono::system_clock::now()); }

std::shared_ptr<grpc::Channel> InProcessServer::Connect() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxResponse);
  return server_->InProcessChannel(arguments);
}

}  // namespace ptrace_prof
