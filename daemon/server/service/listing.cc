#include "daemon/server/service/listing.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <memory>
#include <string_view>

#include "attach/base/clean_text.h"
#include "daemon/server/service/answer_at_end.h"
#include "daemon/server/service/check_message.h"
#include "daemon/server/service/page_size.h"
#include "daemon/trace/read/trace_reader.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

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
  out->set_reason(CleanText(entry.cause));
  out->set_reason_code(std::string(ReasonName(entry.reason)));
  out->set_remedy(CleanText(entry.remedy));
}

class Entries : public TraceVisitor {
 public:
  void OnProcessEntry(const ProcessEntry& entry) override { entries.push_back(entry); }
  void OnCheck(const Check& check) override { checks.push_back(check); }
  std::vector<ProcessEntry> entries;
  std::vector<Check> checks;
};

void FillPage(const Listing& listing, const ListingPage& page, v1::ListProcessesResponse* out) {
  for (const Check& check : listing.checks) {
    FillCheck(check, out->add_limits());
  }
  const size_t end = std::min(listing.entries.size(), page.begin + static_cast<size_t>(page.size));
  for (size_t i = page.begin; i < end; ++i) {
    FillProcess(listing.entries[i], out->add_processes());
  }
  if (end < listing.entries.size()) {
    out->set_next_page_token(fmt::format("{}.{}", page.listing, end));
  }
}

Error BadToken(std::string_view why) {
  return Error{Code::kInvalidArgument, fmt::format("page_token {}", why), "begin again without one"};
}

// Marks processes that the kernel lets the caller read but the policy does not. A process that has ended stays as it
// was.
void MarkDenied(std::vector<ProcessEntry>& entries, const CallerAllowance& allowance) {
  for (ProcessEntry& entry : entries) {
    const Result<void> allowed = entry.profilable ? allowance.MayProfile(entry.pid) : Result<void>();
    if (allowed.has_error() && allowed.error().code == Code::kPermissionDenied) {
      entry.profilable = false;
      entry.cause = allowed.error().message;
      entry.reason = ReasonOf(allowed.error());
      entry.remedy = allowed.error().remedy;
    }
  }
}

Result<Listing> ReadListing(const CaptureSession& session, const v1::ProcessFilter& filter,
                            const CallerAllowance& allowance) {
  Entries found;
  PP_RETURN_IF_ERROR(ReadWholeTrace(session, found));
  MarkDenied(found.entries, allowance);
  std::erase_if(found.entries, [&](const ProcessEntry& entry) { return !Matches(entry, filter); });
  std::sort(found.entries.begin(), found.entries.end(),
            [](const ProcessEntry& a, const ProcessEntry& b) { return a.pid < b.pid; });
  return Listing{std::move(found.entries), std::move(found.checks), filter.SerializeAsString()};
}

}  // namespace

Result<ListingPage> PageFrom(const v1::ListProcessesRequest& request) {
  ListingPage page;
  PP_ASSIGN_OR_RETURN(page.size, PageSizeFrom(request.page_size()));
  const std::string_view token = request.page_token();
  if (token.empty()) {
    return page;
  }
  const size_t point = token.find('.');
  const std::string_view begin = point == std::string_view::npos ? "" : token.substr(point + 1);
  const auto [end, error] = std::from_chars(begin.data(), begin.data() + begin.size(), page.begin);
  if (point == 0 || error != std::errc() || end != begin.data() + begin.size()) {
    return BadToken("is not valid");
  }
  page.listing = token.substr(0, point);
  return page;
}

Result<void> AnswerFirstPage(const CaptureSession& ended, const v1::ListProcessesRequest& request, ListingPage page,
                             const ListingKeeper& keeper, v1::ListProcessesResponse* out) {
  PP_ASSIGN_OR_RETURN(Listing found, ReadListing(ended, request.filter(), keeper.allowance));
  const auto listing = std::make_shared<const Listing>(std::move(found));
  if (listing->entries.size() > static_cast<size_t>(page.size)) {
    page.listing = keeper.listings.Keep(keeper.caller, listing);
  }
  FillPage(*listing, page, out);
  return {};
}

Result<void> AnswerLaterPage(const v1::ListProcessesRequest& request, const ListingPage& page,
                             const ListingKeeper& keeper, v1::ListProcessesResponse* out) {
  const auto listing = keeper.listings.Find(page.listing, keeper.caller);
  if (listing == nullptr || page.begin > listing->entries.size()) {
    return BadToken("is unknown or has expired");
  }
  if (listing->filter != request.filter().SerializeAsString()) {
    return BadToken("belongs to a listing with another filter");
  }
  FillPage(*listing, page, out);
  return {};
}

}  // namespace ptrace_prof
