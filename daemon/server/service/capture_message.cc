#include "daemon/server/service/capture_message.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/trace/counters.h"
#include "ptraceprof/v1/capture.pb.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::util::TimeUtil;

void SetField(uint64_t count, const FieldDescriptor* field, v1::Totals* out) {
  v1::Totals::GetReflection()->SetUInt64(out, field, count);
}
void SetField(double rate, const FieldDescriptor* field, v1::Totals* out) {
  v1::Totals::GetReflection()->SetDouble(out, field, rate);
}
void SetField(Nanos time, const FieldDescriptor* field, v1::Totals* out) {
  v1::Totals::GetReflection()->MutableMessage(out, field)->CopyFrom(TimeUtil::NanosecondsToDuration(time.value));
}

}  // namespace

v1::State StateMessage(CaptureState state) {
  static constexpr v1::State kStates[] = {v1::STATE_PENDING,   v1::STATE_RUNNING, v1::STATE_DRAINING,
                                          v1::STATE_SUCCEEDED, v1::STATE_FAILED,  v1::STATE_CANCELLED};
  return kStates[static_cast<size_t>(state)];
}

const std::string& NodeId() {
  static const std::string id = [] {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    std::string text = CleanText(name);
    std::replace(text.begin(), text.end(), '/', '-');
    return text.empty() ? std::string("localhost") : text;
  }();
  return id;
}

std::string CaptureName(const std::string& id) { return fmt::format("nodes/{}/captures/{}", NodeId(), id); }

Result<std::string> CaptureIdOf(const std::string& name) {
  const size_t middle = name.find("/captures/");
  if (!name.starts_with("nodes/") || middle == std::string::npos || name.size() > 512) {
    return Error{Code::kInvalidArgument, "the name of a capture has the form nodes/NODE/captures/ID",
                 "take it from the response of CreateCapture or ListCaptures"};
  }
  const std::string node = name.substr(6, middle - 6);
  if (node != NodeId() && node != "-") {
    return Because(Reason::kCaptureNotFound, "that capture belongs to another node; this is " + NodeId(),
                   "ask that node", "node " + node);
  }
  return name.substr(middle + 10);
}

void FillTotals(const Accounting& totals, v1::Totals* out) {
  const auto of = [&](SampleQuality quality) { return totals.by_quality[static_cast<size_t>(quality)]; };
  out->set_truncated(of(SampleQuality::kTruncated) + of(SampleQuality::kTooDeep));
  out->set_torn(of(SampleQuality::kTorn));
  out->set_stale_names(of(SampleQuality::kStaleNames));
  for (const auto& counter : kCounters) {
    if (const auto* field = v1::Totals::descriptor()->FindFieldByNumber(counter.traits.totals)) {
      std::visit([&](auto member) { SetField(totals.*member, field, out); }, counter.member);
    }
  }
}

void FillCapture(const CaptureSession& session, v1::Capture* out) {
  const CaptureSnapshot now = session.Snapshot();
  out->set_name(CaptureName(session.parameters().id));
  *out->mutable_spec() = session.parameters().request.spec();
  out->mutable_spec()->set_max_bytes(session.parameters().max_bytes);
  out->mutable_spec()->set_keep(session.parameters().keep);
  out->set_state(StateMessage(now.state));
  *out->mutable_create_time() = TimeUtil::NanosecondsToTimestamp(now.created.value);
  if (now.started.value > 0) {
    *out->mutable_start_time() = TimeUtil::NanosecondsToTimestamp(now.started.value);
  }
  if (now.ended.value > 0) {
    *out->mutable_end_time() = TimeUtil::NanosecondsToTimestamp(now.ended.value);
  }
  out->set_trace_bytes(now.trace_bytes);
  FillTotals(now.totals, out->mutable_totals());
  if (now.error.has_value()) {
    FillStatus(*now.error, out->mutable_error());
  }
  out->set_end_message(CleanText(now.end_message));
  for (const std::string& notice : now.notices) {
    out->add_notices(CleanText(notice));
  }
  out->set_owner_uid(session.parameters().owner.uid);
  if (now.mode) {
    out->set_mode(*now.mode);
  }
  out->set_sampled_because(CleanText(now.sampled_because));
}

}  // namespace ptrace_prof
