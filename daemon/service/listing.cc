#include "daemon/service/listing.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "daemon/export/clean_text.h"
#include "daemon/service/answer_at_end.h"
#include "daemon/service/check_message.h"
#include "daemon/trace/trace_reader.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr int kDefaultPage = 100;
constexpr int kLargestPage = 1000;
constexpr v1::PythonProcess::Kind kKinds[] = {v1::PythonProcess::KIND_PYTHON, v1::PythonProcess::KIND_LIBRARY_ONLY,
                                              v1::PythonProcess::KIND_ENDED};

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

bool Matches(const ProcessEntry& entry, const v1::ProcessFilter& filter) {
  const bool named = filter.name().empty() || entry.name.find(filter.name()) != std::string::npos ||
                     Joined(entry.cmdline).find(filter.name()) != std::string::npos;
  return named && (!filter.has_uid() || entry.uid.value == filter.uid()) &&
         (filter.job_id().empty() || entry.slurm_job == filter.job_id()) &&
         (!filter.has_rank() || entry.rank == filter.rank()) &&
         (filter.container().empty() || entry.container.starts_with(filter.container())) &&
         (!filter.profilable() || entry.profilable);
}

int64_t ClockNow(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void FillPlace(const ProcessEntry& entry, v1::PythonProcess* out) {
  out->set_container(CleanText(entry.container));
  out->set_container_runtime(CleanText(entry.container_runtime));
  out->set_job_id(CleanText(entry.slurm_job));
  out->set_job_step(CleanText(entry.slurm_step));
  if (entry.rank.has_value()) {
    out->set_rank(*entry.rank);
  }
  if (entry.world_size.has_value()) {
    out->set_world_size(*entry.world_size);
  }
  if (entry.local_rank.has_value()) {
    out->set_local_rank(*entry.local_rank);
  }
  for (const std::string& library : entry.gpu_libraries) {
    out->add_gpu_libraries(CleanText(library));
  }
}

void FillStart(const ProcessEntry& entry, v1::PythonProcess* out) {
  const int64_t boot = ClockNow(CLOCK_REALTIME) - ClockNow(CLOCK_BOOTTIME);
  *out->mutable_start_time() = google::protobuf::util::TimeUtil::NanosecondsToTimestamp(boot + entry.start_time.value);
  out->set_start_time_ticks(static_cast<uint64_t>(entry.start_time.value / (1'000'000'000 / ::sysconf(_SC_CLK_TCK))));
}

void FillProcess(const ProcessEntry& entry, v1::PythonProcess* out) {
  out->set_pid(entry.pid.value);
  out->set_ns_pid(entry.ns_pid.value);
  out->set_parent_pid(entry.parent_pid.value);
  out->set_uid(entry.uid.value);
  out->set_kind(kKinds[static_cast<size_t>(entry.kind) % std::size(kKinds)]);
  out->set_name(CleanText(entry.name));
  for (const std::string& word : entry.cmdline) {
    out->add_command(CleanText(word));
  }
  out->set_python_version(CleanText(entry.python));
  FillPlace(entry, out);
  FillStart(entry, out);
  out->set_profilable(entry.profilable);
  out->set_reason(CleanText(entry.reason));
  out->set_remedy(CleanText(entry.remedy));
}

class Entries : public TraceVisitor {
 public:
  void OnProcessEntry(const ProcessEntry& entry) override { entries.push_back(entry); }
  void OnCheck(const Check& check) override { checks.push_back(check); }
  std::vector<ProcessEntry> entries;
  std::vector<Check> checks;
};

}  // namespace

Result<ListingPage> PageFrom(const v1::ListProcessesRequest& request) {
  ListingPage page;
  const std::string& token = request.page_token();
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), page.after.value);
  if (!token.empty() && (error != std::errc() || end != token.data() + token.size() || page.after.value < 0)) {
    return Error{Code::kInvalidArgument, "page_token is not one of ours", "begin again without one"};
  }
  if (request.page_size() < 0) {
    return Error{Code::kInvalidArgument, fmt::format("page_size is {}", request.page_size()),
                 "leave it out, or give 1 to 1000"};
  }
  page.size = request.page_size() == 0 ? kDefaultPage : std::min(request.page_size(), kLargestPage);
  return page;
}

Result<void> FillListing(const CaptureSession& session, const ListingPage& page, const v1::ProcessFilter& filter,
                         v1::ListProcessesResponse* out) {
  Entries found;
  PP_RETURN_IF_ERROR(ReadWholeTrace(session, found));
  std::sort(found.entries.begin(), found.entries.end(),
            [](const ProcessEntry& a, const ProcessEntry& b) { return a.pid.value < b.pid.value; });
  for (const Check& check : found.checks) {
    FillCheck(check, out->add_limits());
  }
  for (const ProcessEntry& entry : found.entries) {
    if (entry.pid.value <= page.after.value || !Matches(entry, filter)) {
      continue;
    }
    if (out->processes_size() == page.size) {
      out->set_next_page_token(std::to_string(out->processes(page.size - 1).pid()));
      break;
    }
    FillProcess(entry, out->add_processes());
  }
  return {};
}

}  // namespace ptrace_prof
