#include "daemon/server/service/dump_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/trace/read/thread_dump.h"
#include "daemon/trace/state_name.h"
#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/connection/message_limits.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

Error TooMuch() {
  return Because(Reason::kQuota,
                 fmt::format("the stacks of all threads exceed the limit of {} MiB for an answer", kMaxAnswer >> 20),
                 "request less (one process, fewer frames), or record a capture and read its trace");
}

void FillFrames(const DumpedThread& thread, v1::ThreadStack* out) {
  for (size_t i = 0; i < thread.frames.size(); ++i) {
    const Frame& frame = thread.frames[i];
    if (frame.kind == FrameKind::kMarker) {
      continue;  // `truncated` reports it
    }
    v1::StackFrame& written = *out->add_frames();
    written.set_function(CleanText(frame.function));
    written.set_file(CleanText(frame.file));
    written.set_line(frame.line);
    const auto locals = thread.locals.find(static_cast<uint32_t>(i));
    for (const LocalVariable& local : locals == thread.locals.end() ? std::vector<LocalVariable>() : locals->second) {
      v1::Variable& variable = *written.add_locals();
      variable.set_name(CleanText(local.name));
      variable.set_value(CleanText(local.value));
      variable.set_is_argument(local.is_argument);
    }
  }
}

void FillThread(const DumpedThread& thread, v1::ThreadStack* out) {
  out->set_pid(thread.info.pid.value);
  out->set_tid(thread.info.tid.value);
  out->set_name(CleanText(thread.info.name));
  out->set_is_main(thread.info.is_main);
  out->set_holds_gil(thread.holds_gil);
  out->set_state(std::string(StateName(thread.state)));
  out->set_state_detail(CleanText(thread.detail));
  out->set_truncated(thread.quality == SampleQuality::kTruncated || thread.quality == SampleQuality::kTooDeep);
  out->set_torn(thread.quality == SampleQuality::kTorn);
  FillFrames(thread, out);
}

}  // namespace

grpc::Status FillDump(const CaptureSession& session, v1::DumpStacksResponse* out) {
  const TraceSpool& spool = session.spool();
  const size_t room = kMaxAnswer - std::min<uint64_t>(spool.size(), kMaxAnswer);
  ThreadDump dump(room / 2);  // cleaning makes text longer
  while (out->trace().size() < spool.size()) {
    const auto bytes = spool.ReadPackets(out->trace().size(), TraceSpool::kReadAtOnce);
    if (bytes.has_error()) {
      return ToStatus(bytes.error());
    }
    if (auto fed = dump.Feed(std::as_bytes(std::span(bytes.value()))); fed.has_error()) {
      return ToStatus(fed.error());
    }
    out->mutable_trace()->append(bytes.value());
  }
  const std::vector<DumpedProcess> processes = dump.Processes();
  const bool was_refused = dump.end().has_value() && dump.end()->reason == Reason::kAlreadyTraced;
  if (const auto error = session.Snapshot().error; error.has_value() && (processes.empty() || was_refused)) {
    return ToStatus(*error);
  }
  for (const DumpedProcess& process : processes) {
    for (const DumpedThread& thread : process.threads) {
      FillThread(thread, out->add_threads());
    }
  }
  if (out->ByteSizeLong() > kMaxAnswer) {
    out->Clear();
    return ToStatus(TooMuch());
  }
  return grpc::Status::OK;
}

}  // namespace ptrace_prof
