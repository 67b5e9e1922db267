// A gRPC server that only this process can reach, and channels to it: for a program that brings its service along.
//
// The services outlive it. The destructor cancels the calls in progress and waits for their end.
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
