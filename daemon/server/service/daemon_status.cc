#include "daemon/server/service/daemon_status.h"

#include <google/protobuf/util/time_util.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>

#include "attach/base/wall_clock.h"
#include "daemon/server/service/capture_message.h"
#include "ptraceprof/v1/node_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

void FillLimits(const CaptureLimits& limits, v1::DaemonLimits* out) {
  out->set_captures(limits.captures_per_user);
  out->set_bytes(limits.bytes);
  if (limits.duration.value > 0) {
    *out->mutable_duration() = TimeUtil::NanosecondsToDuration(limits.duration.value);
  }
}

void FillKeeping(const DaemonFacts& facts, const CaptureRegistry& captures, const CaptureUsage& usage,
                 v1::DaemonKeeping* out) {
  out->set_spool(captures.spool_folder());
  struct statvfs system {};
  if (::statvfs(captures.spool_folder().c_str(), &system) == 0) {
    out->set_spool_free_bytes(uint64_t{system.f_bavail} * system.f_frsize);
  }
  out->set_users(usage.users);
  out->set_brief(usage.brief);
  out->set_audit(facts.audit);
  out->set_metrics(facts.metrics);
}

}  // namespace

void FillDaemonStatus(const DaemonFacts& facts, CaptureRegistry& captures, CaptureUser caller, v1::DaemonStatus* out) {
  out->set_node("nodes/" + NodeId());
  out->set_version(PP_VERSION);
  out->set_pid(::getpid());
  *out->mutable_start_time() = TimeUtil::NanosecondsToTimestamp(facts.started.value);
  *out->mutable_time() = TimeUtil::NanosecondsToTimestamp(RealtimeNow().value);
  out->set_address(facts.address);
  out->set_user_uid(::getuid());
  out->set_owner_uid(facts.owner.value);
  out->set_multi_user(facts.multi_user);
  const CaptureUsage usage = captures.Usage(caller);
  for (size_t i = 0; i < kCaptureStates; ++i) {
    v1::CaptureCount* row = out->add_captures();
    row->set_state(StateMessage(static_cast<CaptureState>(i)));
    row->set_count(usage.by_state[i]);
  }
  out->set_trace_bytes(usage.trace_bytes);
  out->set_of_everybody(caller.is_administrator);
  FillLimits(captures.limits(), out->mutable_limits());
  // Root is excluded: there may be several roots.
  const bool is_owner = Uid(caller.uid) == facts.owner && facts.owner != Uid(0);
  if (caller.is_administrator || is_owner) {
    FillKeeping(facts, captures, usage, out->mutable_keeping());
  }
}

}  // namespace ptrace_prof
