#include "daemon/server/captures/local_starter.h"

#include <unistd.h>

#include "daemon/server/captures/collector_process.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

class LocalCollector : public Collector {
 public:
  explicit LocalCollector(CollectorProcess process) : process_(std::move(process)) {}
  int stream_fd() const override { return process_.stream_fd(); }
  void Stop() override { process_.Stop(); }
  void ShareStops(uint8_t captures) override { process_.ShareStops(captures); }
  void Kill() override { process_.Kill(); }
  std::optional<int> Wait(Nanos timeout) override { return process_.Wait(timeout); }

 private:
  CollectorProcess process_;
};

}  // namespace

void LocalStarter::LaunchNext(std::vector<std::string> command) {
  const std::lock_guard lock(mutex_);
  command_ = std::move(command);
}

Result<Pid> LocalStarter::launched() const {
  const std::lock_guard lock(mutex_);
  return launched_;
}

Result<std::unique_ptr<Collector>> LocalStarter::Start(const CaptureTask& request) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> command = std::move(command_);
  command_.clear();
  PP_ASSIGN_OR_RETURN(CollectorProcess process,
                      CollectorProcess::Start({.task = EncodeTask(request), .command = command}));
  if (!command.empty()) {
    launched_ = process.AwaitCommand();
    PP_RETURN_IF_ERROR(launched_);
  }
  return std::unique_ptr<Collector>(std::make_unique<LocalCollector>(std::move(process)));
}

}  // namespace ptrace_prof
