// A gRPC server that only this process can reach, and channels to it, for a program that contains its own service.
//
// The services must outlive the server. The destructor cancels the open calls and waits until they have ended.
#pragma once

#include <memory>
#include <vector>

namespace grpc {
class Channel;
class Server;
class Service;
}  // namespace grpc

namespace ptrace_prof {

class InProcessServer {
 public:
  explicit InProcessServer(const std::vector<grpc::Service*>& services);
  ~InProcessServer();

  std::shared_ptr<grpc::Channel> Connect();

 private:
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace ptrace_prof
