#include "client/cli/chosen_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "client/cli/messages.h"
#include "client/remote/rpc_backend.h"
#include "client/remote/sample_source.h"
#include "rpc/channel.h"
#include "rpc/default_socket.h"
#include "rpc/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr char kHostVariable[] = "PTRACE_PROF_HOST";
constexpr char kNoDaemon[] = "none";

}  // namespace

void ChosenBackend::Declare(CLI::App& app) {
  app.add_option("--host", host_,
                 "The daemon to ask: unix:PATH, HOST:PORT, or none (default: $PTRACE_PROF_HOST, else the one at your "
                 "default socket if it runs, else none)")
      ->type_name("ADDRESS");
}

Result<void> ChosenBackend::Connect(const std::string& address) {
  PP_ASSIGN_OR_RETURN(const auto channel, ConnectChannel(address));
  remote_ = MakeRpcBackend(channel);
  is_of_this_machine_ = address.starts_with("unix:");
  if (!is_quiet_) {
    PrintNote(fmt::format("through the daemon at {}", address));
  }
  return {};
}

Result<void> ChosenBackend::Choose() {
  is_chosen_ = true;
  std::string address = host_;
  if (const char* variable = std::getenv(kHostVariable); address.empty() && variable != nullptr) {
    address = variable;
  }
  if (!address.empty()) {
    return address == kNoDaemon ? Result<void>() : Connect(address);
  }
  const std::string socket = DefaultSocket(Uid(::getuid()));
  if (socket.empty() || ConnectToUnixSocket(socket).has_error()) {
    return {};
  }
  return Connect("unix:" + socket);
}

Result<std::unique_ptr<CaptureStream>> ChosenBackend::Start(const CaptureRequest& request,
                                                            const std::vector<std::string>& command) {
  if (!command.empty() && (host_.empty() || host_ == kNoDaemon)) {
    return embedded_.Start(request, command);
  }
  if (!is_chosen_) {
    PP_RETURN_IF_ERROR(Choose());
  }
  return (remote_ != nullptr ? *remote_ : embedded_).Start(request, command);
}

Result<std::unique_ptr<SampleSource>> ChosenBackend::StartSamples(const CaptureRequest& request, Nanos interval) {
  if (!is_chosen_) {
    PP_RETURN_IF_ERROR(Choose());
  }
  return (remote_ != nullptr ? *remote_ : embedded_).StartSamples(request, interval);
}

Result<CaptureClient*> ChosenBackend::Captures() {
  if (!is_chosen_) {
    PP_RETURN_IF_ERROR(Choose());
  }
  return remote_ != nullptr ? remote_->Captures() : CaptureBackend::Captures();
}

Result<RemoteDaemon> ChosenBackend::Daemon() {
  if (!is_chosen_) {
    PP_RETURN_IF_ERROR(Choose());
  }
  return remote_ != nullptr ? remote_->Daemon() : CaptureBackend::Daemon();
}

}  // namespace ptrace_prof
