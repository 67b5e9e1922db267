#include "client/cli/embedded.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "client/remote/rpc_backend.h"
#include "client/remote/sample_source.h"
#include "daemon/collector/collector_main.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/collector_process.h"
#include "daemon/server/captures/local_starter.h"
#include "daemon/server/service/profiler_service.h"
#include "rpc/in_process_server.h"

namespace ptrace_prof {
namespace {

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// The stream of a capture that launched a command. The command becomes our child when the collector has ended.
class CommandStream : public CaptureStream {
 public:
  CommandStream(std::unique_ptr<CaptureStream> stream, Pid command) : stream_(std::move(stream)), command_(command) {}

  Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) override { return stream_->Read(buffer, timeout); }
  void Stop() override { stream_->Stop(); }
  void Kill() override { stream_->Kill(); }
  Result<void> Finish() override { return stream_->Finish(); }
  Pid command() const override { return command_; }

  void SignalCommand(int signal) override {
    if (!command_reaped_) {
      ::kill(command_.value, signal);
    }
  }

  Result<std::optional<int>> WaitCommand(Nanos timeout) override {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, command_.value, 0)));
    pollfd ended{pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(timeout.value / 1'000'000));  // without a pidfd this only sleeps
    int status = 0;
    // We are the subreaper, so orphans of the command become our children: reap them too.
    pid_t got = 0;
    while ((got = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (got == command_.value) {
        command_reaped_ = true;
        return std::optional<int>(status);
      }
    }
    if (got < 0 && errno != EINTR) {
      return ErrnoError(errno, "cannot read the exit status of the command");
    }
    return std::optional<int>();
  }

 private:
  const std::unique_ptr<CaptureStream> stream_;
  const Pid command_;
  bool command_reaped_ = false;
};

// The whole service inside this process, called over an in-process channel.
class EmbeddedBackend : public CaptureBackend {
 public:
  EmbeddedBackend()
      : captures_(TemporaryFolder(), {}),
        service_({.uid = ::getuid(), .gid = ::getgid(), .groups = {}, .pid = Pid(::getpid())}, captures_, resources_,
                 {starter_, allowance_, audit_}),
        server_(service_.services()),
        rpc_(MakeRpcBackend(server_.Connect())) {}

  Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                               const std::vector<std::string>& command) override {
    if (command.empty()) {
      return rpc_->Start(request, {});
    }
    CaptureTask sent = request;
    SetTarget(Pid(::getpid()), &sent);  // a placeholder
    starter_.LaunchNext(command);
    auto stream = rpc_->Start(sent, {});
    PP_ASSIGN_OR_RETURN(const Pid launched, starter_.launched());
    if (stream.has_error()) {
      return stream;
    }
    return std::unique_ptr<CaptureStream>(std::make_unique<CommandStream>(std::move(stream).value(), launched));
  }

  Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) override {
    return rpc_->StartSamples(request, interval);
  }

 private:
  LocalStarter starter_;
  const CallerAllowance allowance_;
  RequestAudit audit_;
  CaptureRegistry captures_;
  CallResources resources_;
  ProfilerService service_;
  InProcessServer server_;
  const std::unique_ptr<CaptureBackend> rpc_;
};

// Starts the service on first use, so that commands without a capture (export, --help) start none.
class LazyBackend : public CaptureBackend {
 public:
  Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                               const std::vector<std::string>& command) override {
    return Backend().Start(request, command);
  }
  Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) override {
    return Backend().StartSamples(request, interval);
  }

 private:
  CaptureBackend& Backend() {
    if (backend_ == nullptr) {
      backend_ = std::make_unique<EmbeddedBackend>();
    }
    return *backend_;
  }

  std::unique_ptr<CaptureBackend> backend_;
};

}  // namespace

std::unique_ptr<CaptureBackend> MakeEmbeddedBackend() { return std::make_unique<LazyBackend>(); }

std::optional<int> RunAsCollector(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != kCollectorArgument) {
    return std::nullopt;
  }
  return CollectorMain(argc, argv);
}

}  // namespace ptrace_prof
