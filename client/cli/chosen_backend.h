// Chooses where a capture runs: in the daemon named by --host or PTRACE_PROF_HOST, else in the daemon at the user's
// default socket if one answers, else in this process itself.
//
// Chooses at the first Start, and prints a note if it is a daemon. A command is always launched by this process.
// Single-threaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/remote/capture_backend.h"
#include "rpc/channel.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

class ChosenBackend : public CaptureBackend {
 public:
  explicit ChosenBackend(CaptureBackend& embedded) : embedded_(embedded) {}

  // Adds --host to a command that needs a capture, or to the program, so that it may also stand before the command's
  // name.
  void Declare(CLI::App& app);
  // Whether the command line names a daemon.
  bool IsNamed() const { return !host_.empty(); }
  // Print no note about the choice.
  void BeQuiet() { is_quiet_ = true; }

  Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                               const std::vector<std::string>& command) override;
  Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) override;
  void GiveUpWhen(const std::function<bool()>& has_enough) override { has_enough_ = has_enough; }
  bool is_of_this_machine() const override { return is_of_this_machine_; }
  Result<CaptureClient*> Captures() override;
  Result<RemoteDaemon> Daemon() override;

 private:
  Result<void> Choose();
  void DeclareTls(CLI::App& app);
  void DeclareMunge(CLI::App& app);
  Result<void> RefuseTlsOptions() const;
  void ReadTlsVariables();
  Result<void> Connect(const std::string& address);

  CaptureBackend& embedded_;
  std::string host_;
  ChannelOptions channel_;
  bool uses_munge_ = false;
  std::string munge_socket_;
  std::function<bool()> has_enough_ = [] { return false; };
  bool is_quiet_ = false;
  bool is_chosen_ = false;
  bool is_of_this_machine_ = true;
  std::unique_ptr<CaptureBackend> remote_;  // null: embedded
};

}  // namespace ptrace_prof
