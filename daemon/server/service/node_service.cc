#include "daemon/server/service/node_service.h"

#include <google/protobuf/util/time_util.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include "daemon/server/service/answer_at_end.h"
#include "daemon/server/service/capture_message.h"
#include "daemon/server/service/check_message.h"
#include "daemon/server/service/daemon_status.h"
#include "daemon/server/service/failed_call.h"
#include "daemon/server/service/user_of.h"
#include "daemon/trace/read/trace_reader.h"
#include "rpc/connection/status.h"
#include "rpc/messages/check_spec.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

class Checks : public TraceVisitor {
 public:
  explicit Checks(v1::Node* out) : out_(out) {}
  void OnCheck(const Check& check) override { FillCheck(check, out_->add_checks()); }

 private:
  v1::Node* out_;
};

void FillIdentity(v1::Node* out) {
  out->set_name("nodes/" + NodeId());
  out->set_version(PP_VERSION);
  utsname system{};
  if (::uname(&system) == 0) {
    out->set_kernel(system.release);
    out->set_architecture(system.machine);
  }
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  out->set_boot_id(boot_id);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  out->set_monotonic_ns(MonotonicNow().value);
  out->mutable_time()->set_seconds(now.tv_sec);
  out->mutable_time()->set_nanos(static_cast<int32_t>(now.tv_nsec));
}

}  // namespace

grpc::ServerUnaryReactor* NodeServiceImpl::GetNode(grpc::CallbackServerContext* context,
                                                   const v1::GetNodeRequest* request, v1::Node* response) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return FailedUnary(context, ToStatus(known.error()));
  }
  CaptureTask look;
  look.set_verb(CaptureTask::DOCTOR);
  SetTarget(Pid(request->pid()), &look);
  const auto checked = CheckTask(look);
  if (checked.has_error()) {
    return FailedUnary(context, ToStatus(checked.error()));
  }
  const HeldAnswer answer{resources_.unsent, resources_.pool, caller_.uid, *response};
  const auto start = [this, look] { return captures_.StartHidden(look, UserOf(caller_), access_); };
  return AnswerAtEnd(start, answer, [response](const CaptureSession& ended) {
    FillIdentity(response);
    Checks checks(response);
    const auto read = ReadWholeTrace(ended, checks);
    return read.has_error() ? ToStatus(read.error()) : grpc::Status::OK;
  });
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetDaemonStatus(grpc::CallbackServerContext* context,
                                                           const v1::GetDaemonStatusRequest* request,
                                                           v1::DaemonStatus* response) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return FailedUnary(context, ToStatus(known.error()));
  }
  if (facts_ == nullptr) {
    return FailedUnary(context, ToStatus(Because(Reason::kNoDaemon, "this is not a daemon", "start ptrace-profd")));
  }
  FillDaemonStatus(*facts_, captures_, UserOf(caller_), response);
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace ptrace_prof
