#include "client/remote/inspection_trace.h"

#include <unistd.h>

#include <chrono>
#include <functional>

#include "client/remote/call_limits.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

constexpr std::chrono::seconds kInspectionDeadline(30);

template <typename Number>
std::optional<int32_t> Maybe(bool is_set, Number value) {
  return is_set ? std::optional<int32_t>(value) : std::nullopt;
}

ProcessKind KindOf(const v1::PythonProcess& process) {
  switch (process.kind()) {
    case v1::PythonProcess::KIND_LIBRARY_ONLY: return ProcessKind::kLibraryOnly;
    case v1::PythonProcess::KIND_ENDED: return ProcessKind::kEnded;
    default: return ProcessKind::kPython;
  }
}

ProcessEntry EntryOf(const v1::PythonProcess& process) {
  ProcessEntry entry;
  entry.pid = Pid(process.pid());
  entry.ns_pid = Pid(process.ns_pid());
  entry.parent_pid = Pid(process.parent_pid());
  entry.uid = Uid(process.uid());
  entry.kind = KindOf(process);
  entry.name = process.name();
  entry.cmdline.assign(process.command().begin(), process.command().end());
  entry.start_time = Nanos(static_cast<int64_t>(process.start_time_ticks()) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  entry.python = process.python_version();
  entry.container_runtime = process.container_runtime();
  entry.container = process.container();
  entry.slurm_job = process.job_id();
  entry.slurm_step = process.job_step();
  entry.rank = Maybe(process.has_rank(), process.rank());
  entry.world_size = Maybe(process.has_world_size(), process.world_size());
  entry.local_rank = Maybe(process.has_local_rank(), process.local_rank());
  entry.gpu_libraries.assign(process.gpu_libraries().begin(), process.gpu_libraries().end());
  entry.profilable = process.profilable();
  entry.cause = process.reason();
  entry.reason = ReasonNamed(process.reason_code());
  entry.remedy = process.remedy();
  return entry;
}

Check CheckOf(const v1::Check& check) {
  const Verdict verdict = check.verdict() == v1::Check::VERDICT_OK        ? Verdict::kOk
                          : check.verdict() == v1::Check::VERDICT_LIMITED ? Verdict::kLimited
                                                                          : Verdict::kMissing;
  return {.pid = Pid(check.pid()),
          .subject = check.subject(),
          .verdict = verdict,
          .cause = check.cause(),
          .remedy = check.remedy(),
          .code = static_cast<Code>(check.code()),
          .reason = ReasonNamed(check.reason())};
}

Result<std::string> WriteTrace(const CaptureTask& request, const std::function<Result<void>(TraceWriter&)>& fill) {
  MemorySink sink;
  const StackTable stacks;
  TraceWriter writer(sink, stacks, request);
  PP_RETURN_IF_ERROR(fill(writer));
  PP_RETURN_IF_ERROR(writer.End(MonotonicNow(), Accounting{}, {}));
  return sink.bytes();
}

}  // namespace

Result<std::string> ListAsTrace(v1::CaptureService::Stub& stub, const CaptureTask& request) {
  return WriteTrace(request, [&](TraceWriter& writer) -> Result<void> {
    v1::ListProcessesRequest page;
    page.set_page_size(kEntriesPerPage);
    do {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kInspectionDeadline);
      v1::ListProcessesResponse response;
      if (const grpc::Status status = stub.ListProcesses(&context, page, &response); !status.ok()) {
        return FromStatus(status);
      }
      for (const v1::PythonProcess& process : response.processes()) {
        writer.AddProcessEntry(EntryOf(process));
      }
      if (response.next_page_token().empty()) {
        for (const v1::Check& check : response.limits()) {
          writer.AddCheck(CheckOf(check));
        }
      }
      page.set_page_token(response.next_page_token());
    } while (!page.page_token().empty());
    return {};
  });
}

Result<std::string> DiagnosisAsTrace(v1::NodeService::Stub& stub, const CaptureTask& request) {
  return WriteTrace(request, [&](TraceWriter& writer) -> Result<void> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kInspectionDeadline);
    v1::GetNodeRequest message;
    message.set_pid(TargetOf(request).value);
    v1::Node node;
    if (const grpc::Status status = stub.GetNode(&context, message, &node); !status.ok()) {
      return FromStatus(status);
    }
    for (const v1::Check& check : node.checks()) {
      writer.AddCheck(CheckOf(check));
    }
    return {};
  });
}

}  // namespace ptrace_prof
