#include "daemon/server/captures/launcher_starter.h"

#include "daemon/collector/sandbox/stop_line.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLastWaitForLauncher = Nanos::FromSeconds(3);

class LaunchedCollector : public Collector {
 public:
  LaunchedCollector(std::shared_ptr<LauncherConnection> connection, LauncherConnection::Started started)
      : connection_(std::move(connection)), started_(std::move(started)) {}

  ~LaunchedCollector() override {
    Stop();
    started_.stream.reset();  // a collector blocked on the full pipe gets EPIPE
    if (!connection_->Wait(started_, kLastWaitForLauncher).has_value()) {
      Kill();
      connection_->Wait(started_, kLastWaitForLauncher);
    }
    connection_->Forget(started_);
  }

  int stream_fd() const override { return started_.stream.get(); }
  void Stop() override { started_.control.reset(); }
  void ShareStops(uint8_t captures) override { ReportSharers(started_.control, captures); }
  void Kill() override { connection_->Kill(started_); }
  std::optional<int> Wait(Nanos timeout) override { return connection_->Wait(started_, timeout); }
  std::optional<Error> WhyNotStarted() override { return LauncherConnection::WhyNotStarted(started_); }
  Nanos cpu_time() const override { return connection_->CpuOf(started_); }

 private:
  const std::shared_ptr<LauncherConnection> connection_;
  LauncherConnection::Started started_;
};

}  // namespace

Result<std::unique_ptr<Collector>> LauncherStarter::Start(const CaptureTask& request) {
  const bool reads_target = request.verb() == CaptureTask::RECORD || request.verb() == CaptureTask::DUMP;
  PP_ASSIGN_OR_RETURN(LauncherConnection::Started started,
                      connection_->Start(peer_, reads_target ? TargetOf(request) : Pid(), {EncodeTask(request)}));
  return std::unique_ptr<Collector>(std::make_unique<LaunchedCollector>(connection_, std::move(started)));
}

}  // namespace ptrace_prof
