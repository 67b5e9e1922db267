#include "client/cli/chosen_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "attach/base/root_environment.h"
#include "client/cli/messages.h"
#include "client/remote/rpc_backend.h"
#include "client/remote/sample_source.h"
#include "rpc/channel.h"
#include "rpc/library_log.h"
#include "rpc/munge/munge_credential.h"
#include "rpc/unix/default_socket.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr char kHostVariable[] = "PTRACE_PROF_HOST";
constexpr char kNoDaemon[] = "none";

}  // namespace

void ChosenBackend::Declare(CLI::App& app) {
  app.add_option("--host", host_,
                 "The daemon to use: unix:PATH, tls://HOST:PORT, HOST:PORT, or none (default: $PTRACE_PROF_HOST, else "
                 "the one at your default socket if it runs, else none)")
      ->type_name("ADDRESS");
  DeclareTls(app);
}

void ChosenBackend::DeclareTls(CLI::App& app) {
  app.add_option("--tls-ca", channel_.tls.authority,
                 "For tls://: the authority that signed the daemon's certificate (PEM; $PTRACE_PROF_TLS_CA)")
      ->group("Over TLS")
      ->type_name("FILE");
  app.add_option("--tls-cert", channel_.tls.certificate,
                 "For tls://: your certificate, with its chain (PEM; $PTRACE_PROF_TLS_CERT)")
      ->group("Over TLS")
      ->type_name("FILE");
  app.add_option("--tls-key", channel_.tls.key, "For tls://: its key (PEM; $PTRACE_PROF_TLS_KEY)")
      ->group("Over TLS")
      ->type_name("FILE");
  app.add_option(
         "--tls-server-name", channel_.server_name,
         "For tls://: the name in the daemon's certificate, if it differs from the host ($PTRACE_PROF_TLS_SERVER_NAME)")
      ->group("Over TLS")
      ->type_name("NAME");
  app.add_option("--as", channel_.user,
                 "For tls://: act as this user of that machine, if your certificate is for several ($PTRACE_PROF_AS)")
      ->group("Over TLS")
      ->type_name("USER");
  DeclareMunge(app);
}

void ChosenBackend::DeclareMunge(CLI::App& app) {
  app.add_flag("--munge", uses_munge_,
               "For tls://: authenticate with MUNGE, if several users share your certificate ($PTRACE_PROF_MUNGE=1)")
      ->group("Over TLS");
  app.add_option("--munge-socket", munge_socket_,
                 fmt::format("Like --munge, with the socket of munged (default: $PTRACE_PROF_MUNGE_SOCKET, else {})",
                             kUsualMungeSocket))
      ->group("Over TLS")
      ->type_name("PATH");
}

// Reads what the command line leaves open from the environment, which applies to all commands, so only for TLS.
void ChosenBackend::ReadTlsVariables() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string wish = variable("PTRACE_PROF_MUNGE");
  const bool wants_munge = uses_munge_ || !munge_socket_.empty() || (!wish.empty() && wish != "0");
  for (const auto& [value, name] : {std::pair(&channel_.tls.authority, "PTRACE_PROF_TLS_CA"),
                                    {&channel_.tls.certificate, "PTRACE_PROF_TLS_CERT"},
                                    {&channel_.tls.key, "PTRACE_PROF_TLS_KEY"},
                                    {&channel_.server_name, "PTRACE_PROF_TLS_SERVER_NAME"},
                                    {&channel_.user, "PTRACE_PROF_AS"},
                                    {&munge_socket_, "PTRACE_PROF_MUNGE_SOCKET"}}) {
    *value = value->empty() ? variable(name) : *value;
  }
  if (wants_munge) {
    channel_.munge = munge_socket_.empty() ? kUsualMungeSocket : munge_socket_;
  }
}

Result<void> ChosenBackend::Connect(const std::string& address) {
  ForgetLibraryVariables();  // a daemon does not start a command for us
  if (address.starts_with("tls://")) {
    ReadTlsVariables();
  }
  // gRPC prints only a part of a failed handshake to stderr; the error of ConnectChannel has all of it.
  RedirectLibraryLogs([](std::string_view, std::string_view) {});
  channel_.has_enough = has_enough_;
  PP_ASSIGN_OR_RETURN(const auto channel, ConnectChannel(address, channel_));
  remote_ = MakeRpcBackend(channel);
  is_of_this_machine_ = address.starts_with("unix:");
  if (!is_quiet_) {
    PrintNote(fmt::format("through the daemon at {}", address));
  }
  return {};
}

// Refuses TLS options for another address: unlike the environment, the command line means this one connection.
Result<void> ChosenBackend::RefuseTlsOptions() const {
  for (const auto& [is_there, option] : {std::pair(!channel_.tls.authority.empty(), "--tls-ca"),
                                         {!channel_.tls.certificate.empty(), "--tls-cert"},
                                         {!channel_.tls.key.empty(), "--tls-key"},
                                         {!channel_.server_name.empty(), "--tls-server-name"},
                                         {!channel_.user.empty(), "--as"},
                                         {uses_munge_, "--munge"},
                                         {!munge_socket_.empty(), "--munge-socket"}}) {
    if (is_there) {
      return Error{Code::kInvalidArgument, fmt::format("{} needs a connection over TLS", option),
                   fmt::format("give --host tls://HOST:PORT, or leave {} out", option)};
    }
  }
  return {};
}

Result<void> ChosenBackend::Choose() {
  is_chosen_ = true;
  std::string address = host_;
  if (const char* variable = std::getenv(kHostVariable); address.empty() && variable != nullptr) {
    address = variable;
  }
  if (!address.starts_with("tls://")) {
    PP_RETURN_IF_ERROR(RefuseTlsOptions());
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

Result<std::unique_ptr<CaptureStream>> ChosenBackend::Start(const CaptureTask& request,
                                                            const std::vector<std::string>& command) {
  if (!command.empty() && (host_.empty() || host_ == kNoDaemon)) {
    return embedded_.Start(request, command);
  }
  if (!is_chosen_) {
    PP_RETURN_IF_ERROR(Choose());
  }
  if (remote_ != nullptr) {
    remote_->GiveUpWhen(has_enough_);
    return remote_->Start(request, command);
  }
  return embedded_.Start(request, command);
}

Result<std::unique_ptr<SampleSource>> ChosenBackend::StartSamples(const CaptureTask& request, Nanos interval) {
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
