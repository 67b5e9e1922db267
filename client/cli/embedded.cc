#include "client/cli/embedded.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "daemon/session/collector_main.h"
#include "daemon/session/collector_process.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kEndWait = Nanos::FromMillis(5000);

Result<void> CheckCollectorStatus(int status) {
  if (WIFSIGNALED(status)) {
    return Error{
        Code::kInternal,
        fmt::format("the collector was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status))),
        "what was recorded until then is kept; the target is not affected"};
  }
  if (WEXITSTATUS(status) == 127) {
    return Error{Code::kInternal, "cannot start the collector from /proc/self/exe",
                 "is /proc mounted, and may this file be executed?"};
  }
  if (WEXITSTATUS(status) != 0) {
    return Error{Code::kInternal, fmt::format("the collector failed with status {}", WEXITSTATUS(status)), ""};
  }
  return {};
}

class EmbeddedStream : public CaptureStream {
 public:
  EmbeddedStream(CollectorProcess process, Pid command) : process_(std::move(process)), command_(command) {}

  Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) override {
    pollfd readable{process_.stream_fd(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(timeout.value / 1'000'000));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      return Chunk{};
    }
    const ssize_t got = ::read(process_.stream_fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      return Chunk{};
    }
    if (got < 0) {
      return ErrnoError(errno, "cannot read from the collector");
    }
    return Chunk{.size = static_cast<size_t>(got), .ended = got == 0};
  }

  void Stop() override { process_.Stop(); }
  void Kill() override { process_.Kill(); }

  Result<void> Finish() override {
    if (auto status = process_.Wait(kEndWait); status.has_value()) {
      return CheckCollectorStatus(*status);
    }
    process_.Kill();
    process_.Wait(kEndWait);
    return Error{Code::kInternal, "the collector did not end and was killed", "the target is not affected"};
  }

  Pid command() const override { return command_; }

  void SignalCommand(int signal) override {
    if (command_.value > 0 && !command_reaped_) {
      ::kill(command_.value, signal);
    }
  }

  Result<std::optional<int>> WaitCommand(Nanos timeout) override {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, command_.value, 0)));
    pollfd ended{pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(timeout.value / 1'000'000));  // without a pidfd this merely sleeps
    int status = 0;
    // What the command left behind becomes ours too (we are the subreaper): reap it on the way.
    pid_t got = 0;
    while ((got = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (got == command_.value) {
        command_reaped_ = true;
        return std::optional<int>(status);
      }
    }
    if (got < 0 && errno != EINTR) {
      return ErrnoError(errno, "cannot learn how the command ended");
    }
    return std::optional<int>();
  }

 private:
  CollectorProcess process_;
  Pid command_;
  bool command_reaped_ = false;
};

class EmbeddedBackend : public CaptureBackend {
 public:
  Result<std::unique_ptr<CaptureStream>> Start(const CaptureRequest& request,
                                               const std::vector<std::string>& command) override {
    CaptureRequest sent = request;
    if (!command.empty()) {
      sent.pid = Pid(::getpid());  // a placeholder
    }
    PP_ASSIGN_OR_RETURN(CollectorProcess process,
                        CollectorProcess::Start({.request = EncodeRequest(sent), .command = command}));
    Pid launched;
    if (!command.empty()) {
      PP_ASSIGN_OR_RETURN(launched, process.AwaitCommand());
    }
    return std::unique_ptr<CaptureStream>(std::make_unique<EmbeddedStream>(std::move(process), launched));
  }
};

}  // namespace

std::unique_ptr<CaptureBackend> MakeEmbeddedBackend() { return std::make_unique<EmbeddedBackend>(); }

std::optional<int> RunAsCollector(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != kCollectorArgument) {
    return std::nullopt;
  }
  return CollectorMain(argc, argv);
}

}  // namespace ptrace_prof
