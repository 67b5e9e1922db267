#include "daemon/service/capture_message.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "ptraceprof/v1/capture.pb.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

constexpr v1::State kStates[] = {v1::STATE_PENDING,   v1::STATE_RUNNING, v1::STATE_DRAINING,
                                 v1::STATE_SUCCEEDED, v1::STATE_FAILED,  v1::STATE_CANCELLED};

}  // namespace

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
    return Because(Reason::kCaptureNotFound, "that capture is of another node; this is " + NodeId(), "ask that node",
                   "node " + node);
  }
  return name.substr(middle + 10);
}

void FillTotals(const Accounting& totals, v1::Totals* out) {
  const auto of = [&](SampleQuality quality) { return totals.by_quality[static_cast<size_t>(quality)]; };
  out->set_samples(totals.samples);
  out->set_truncated(of(SampleQuality::kTruncated) + of(SampleQuality::kTooDeep));
  out->set_torn(of(SampleQuality::kTorn));
  out->set_stale_names(of(SampleQuality::kStaleNames));
  out->set_lost(totals.lost);
  out->set_late_instants(totals.late);
  out->set_refused_stops(totals.refused_stops);
  out->set_interrupted_waits(totals.interrupted_waits);
  out->set_missed_rounds(totals.missed);
  out->set_idle_skipped(totals.idle_skipped);
  out->set_stops(totals.stops);
  *out->mutable_stopped_time() = TimeUtil::NanosecondsToDuration(totals.stopped_total.value);
  *out->mutable_stop_p50() = TimeUtil::NanosecondsToDuration(totals.stopped_median.value);
  *out->mutable_stop_p90() = TimeUtil::NanosecondsToDuration(totals.stopped_p90.value);
  *out->mutable_stop_longest() = TimeUtil::NanosecondsToDuration(totals.stopped_longest.value);
  *out->mutable_collector_cpu_time() = TimeUtil::NanosecondsToDuration(totals.collector_cpu.value);
  *out->mutable_wall_time() = TimeUtil::NanosecondsToDuration(totals.wall.value);
  out->set_actual_rate_hz(totals.actual_rate_hz);
  out->set_call_events(totals.call_events);
  out->set_call_events_lost(totals.call_events_lost);
  out->set_events_outside_steps(totals.events_outside_steps);
  out->set_steps(totals.steps);
  out->set_children_not_traced(totals.children_not_traced);
  out->set_holds(totals.holds);
  *out->mutable_held_time() = TimeUtil::NanosecondsToDuration(totals.held_total.value);
  out->set_processes(totals.processes);
  out->set_threads(totals.threads);
}

void FillCapture(const CaptureSession& session, v1::Capture* out) {
  const CaptureSnapshot now = session.Snapshot();
  out->set_name(CaptureName(session.parameters().id));
  *out->mutable_spec() = session.parameters().request.spec();
  out->mutable_spec()->set_max_bytes(session.parameters().max_bytes);
  out->mutable_spec()->set_keep(session.parameters().keep);
  out->set_state(kStates[static_cast<size_t>(now.state)]);
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
