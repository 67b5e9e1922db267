// The service as its clients see it: real collectors, real Python processes, and a channel inside this process, over a
// Unix socket, or over TLS on 127.0.0.1. One object per test, which leaves nothing behind.
#pragma once

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/server/captures/local_starter.h"
#include "daemon/server/service/profiler_service.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/in_process_server.h"
#include "rpc/unix/unix_listener.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {

enum class Way { kInProcess, kUnixSocket, kTls };

class Serving {
 public:
  // `starter` null: collectors are started from this program itself.
  explicit Serving(Way way, CaptureLimits limits = {}, CollectorStarter* starter = nullptr);
  ~Serving();

  ptraceprof::v1::CaptureService::Stub& captures() { return *captures_; }
  ptraceprof::v1::NodeService::Stub& node() { return *node_; }
  CaptureRegistry& registry() { return *registry_; }
  void HangUp();  // no stub may be used after that
  size_t connections() const { return listener_->connections(); }

 private:
  std::shared_ptr<grpc::Channel> Serve(Way way);
  std::shared_ptr<grpc::Channel> ServeInProcess();
  std::shared_ptr<grpc::Channel> ServeOnUnixSocket();
  std::shared_ptr<grpc::Channel> ServeOverTls();

  ScratchDirectory folder_;
  LocalStarter local_;
  const CallerAllowance allowance_;
  RequestAudit audit_;
  const CallerAccess access_;
  std::unique_ptr<CaptureRegistry> registry_;
  CallResources resources_;
  std::unique_ptr<ProfilerService> service_;
  std::unique_ptr<InProcessServer> in_process_;
  std::unique_ptr<UnixListener> listener_;
  std::unique_ptr<ptraceprof::v1::CaptureService::Stub> captures_;
  std::unique_ptr<ptraceprof::v1::NodeService::Stub> node_;
};

// Tests that hold for both ways of reaching the service.
class BothWays : public testing::TestWithParam<Way> {
 protected:
  Serving serving_{GetParam()};
};
std::string NameOfWay(const testing::TestParamInfo<Way>& way);

// A Python process that runs this script, which prints "ready".
std::unique_ptr<TestTarget> Python(const std::string& script);
// One that computes for ever.
std::unique_ptr<TestTarget> Spinning();

ptraceprof::v1::CaptureSpec SpecFor(pid_t pid, double seconds = 0, double rate_hz = 200);

// The result of one call of Record or ReadTrace. Every chunk is checked: its offset, its CRC, and that the trace can be
// read up to its end.
struct Received {
  std::vector<ptraceprof::v1::Capture> captures;
  std::vector<uint64_t> ends;  // of chunks
  std::string trace;
  bool last = false;
  uint64_t samples = 0;  // in the trace
  bool has_end = false;
  grpc::Status status;
};
using OnEvent = std::function<void(const ptraceprof::v1::RecordEvent&)>;
Received Record(Serving& serving, grpc::ClientContext& context, const ptraceprof::v1::RecordRequest& request,
                const OnEvent& on_event = nullptr);
Received ReadTrace(Serving& serving, const ptraceprof::v1::ReadTraceRequest& request);

ptraceprof::v1::Capture AwaitEnd(Serving& serving, const std::string& name);

// Children of this process that are not targets: collectors.
std::vector<pid_t> Collectors(const std::vector<pid_t>& targets);
size_t CountCollectors(const std::vector<pid_t>& targets);
// "" when no thread of the process is traced or stopped.
std::string HarmOf(pid_t pid);
size_t ResidentKib();

}  // namespace ptrace_prof
