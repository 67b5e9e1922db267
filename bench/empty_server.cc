#include "bench/empty_server.h"

#include <fcntl.h>
#include <grpcpp/support/server_callback.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "rpc/unix/unix_listener.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

class EmptyServices : public ConnectionServices {
 public:
  std::vector<grpc::Service*> services() override { return {&captures_}; }

 private:
  class Captures : public v1::CaptureService::CallbackService {
    grpc::ServerUnaryReactor* ListCaptures(grpc::CallbackServerContext* context, const v1::ListCapturesRequest*,
                                           v1::ListCapturesResponse*) override {
      auto* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
  };

  Captures captures_;
};

// Serves until the other end of `alive` is closed.
int Serve(UniqueFd socket, UniqueFd alive) {
  auto listener = UnixListener::Start(std::move(socket), {.admit = AdmitOnly({Uid(::getuid())})},
                                      [](const PeerIdentity&) { return std::make_unique<EmptyServices>(); });
  if (listener.has_error()) {
    return 1;
  }
  char byte = 0;
  (void)!::read(alive.get(), &byte, 1);
  listener.value()->Shutdown(Nanos());
  return 0;
}

}  // namespace

EmptyServer::EmptyServer() {
  char folder[] = "/tmp/pp-empty-XXXXXX";
  int ends[2];
  if (::mkdtemp(folder) == nullptr || ::pipe2(ends, O_CLOEXEC) != 0) {
    return;
  }
  folder_ = folder;
  alive_.reset(ends[1]);
  UniqueFd other(ends[0]);
  auto socket = ListenOnUnixSocket(folder_ + "/s.sock");  // early connections wait in its queue
  if (socket.has_error()) {
    return;
  }
  child_ = ::fork();
  if (child_ == 0) {
    alive_.reset();
    ::_exit(Serve(std::move(socket).value(), std::move(other)));
  }
}

EmptyServer::~EmptyServer() {
  alive_.reset();
  if (child_ > 0) {
    ::waitpid(child_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace ptrace_prof
