#include "daemon/server/captures/capture_admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/server/captures/random_id.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

bool IsValidId(const std::string& id) {
  return id.size() <= 63 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// Also true for a capture that may trace calls, until its collector has decided.
bool TracesCalls(const CaptureTask& request, const CaptureSnapshot& now) {
  return MayTrace(now.mode.value_or(request.spec().mode()));
}
bool IsBrief(const CaptureParameters& parameters) { return parameters.request.verb() != CaptureTask::RECORD; }
bool IsLive(const CaptureParameters& parameters) { return parameters.id.empty() && !IsBrief(parameters); }
bool HoldsGpu(const CaptureTask& request, const CaptureSnapshot&) { return HasGpu(request.spec()); }

// `whose` names the policy's quota that was exceeded; empty: the limit of the command line.
Error OverQuota(uint32_t uid, std::string_view what, const std::string& whose, std::string remedy) {
  return Because(
      Reason::kQuota,
      fmt::format("user {} {}{}", uid, what, whose.empty() ? "" : fmt::format(" (quota '{}' of the policy)", whose)),
      std::move(remedy), fmt::format("user {}", uid));
}

// Returns the shorter one; 0 means no limit.
Nanos LongestDuration(Nanos limit, const UserQuota& quota) {
  const Nanos own = quota.duration.value_or(Nanos());
  return limit.value == 0 || own.value == 0 ? std::max(limit, own) : std::min(limit, own);
}

// Only refusals by a limit, an ID in use or our end are recorded; a malformed request is not.
void Report(RequestAudit& audit, const CaptureTask& request, const Error& error, const std::string& whose) {
  if (error.reason == Reason::kQuota || error.reason == Reason::kCaptureExists ||
      error.reason == Reason::kDaemonEnding) {
    audit.Refused(request, error, whose);
  }
}

void Take(const CpuGrant& grant, CaptureParameters& parameters) {
  parameters.cpu_cores = grant.cores;
  NarrowTo(grant, parameters.request);
  if (grant.is_less) {
    parameters.notices.push_back(NarrowedNotice(grant));
  }
}

}  // namespace

Result<std::shared_ptr<CaptureSession>> CaptureAdmission::FindRepeated(const CaptureCreation& creation) const {
  for (const auto& [id, entry] : table_.entries()) {
    if (!creation.request_id.empty() && entry.request_id == creation.request_id && !entry.is_discarded &&
        entry.session->parameters().owner == creation.owner) {
      if (const auto& asked = entry.session->parameters().asked;
          !asked.empty() && asked != SerialisedSpec(creation.request.spec())) {
        return Because(
            Reason::kInvalidRequest,
            fmt::format("request_id '{}' was already used by a different request, which created capture '{}'",
                        CleanText(creation.request_id), id),
            "use a new ID for each request; only a repeated request keeps its ID");
      }
      return entry.session;
    }
  }
  return std::shared_ptr<CaptureSession>();
}

Result<void> CaptureAdmission::CheckLimits(const CaptureCreation& creation, const UserQuota& quota,
                                           std::string& whose) const {
  const uint32_t uid = creation.owner.uid;
  const size_t running = table_.CountRunning(uid);
  if (const size_t most = std::min(limits_.captures_per_user, quota.captures.value_or(SIZE_MAX)); running >= most) {
    whose = most < limits_.captures_per_user ? quota.name : "";
    return OverQuota(uid, fmt::format("has {} running captures, and the limit is {}", running, most), whose,
                     "end one of them: ptrace-prof captures list, ptrace-prof captures cancel ID");
  }
  const uint64_t stored = accounts_.UsedBy(uid);
  if (quota.bytes.has_value() && stored >= *quota.bytes) {
    whose = quota.name;
    return OverQuota(uid, fmt::format("has {} bytes of stored traces, and the limit is {}", stored, *quota.bytes),
                     whose, "delete some of them: ptrace-prof captures list, ptrace-prof captures delete ID");
  }
  const Nanos longest = LongestDuration(limits_.duration, quota);
  if (const Nanos asked = DurationOf(creation.request); longest.value > 0 && asked > longest) {
    whose = quota.duration == longest ? quota.name : "";
    return OverQuota(
        uid, fmt::format("requested {:g} s, and the limit for a capture is {:g} s", asked.seconds(), longest.seconds()),
        whose, "request a shorter duration, or none: the capture then ends at the limit");
  }
  return {};
}

Result<void> CaptureAdmission::CheckOpen() const {
  return is_closed_ ? Because(Reason::kDaemonEnding, "ptrace-profd is shutting down and starts nothing new",
                              "try again when it runs again, or do without it: --host none")
                    : Result<void>();
}

Result<CpuGrant> CaptureAdmission::FindCpu(const CaptureTask& request, std::optional<double> budget) const {
  if (!budget.has_value()) {
    return CpuGrant{};
  }
  const double taken = table_.cpu_use().cores;
  const auto grant = GrantCpu(request, *budget - taken);
  return grant.has_value() ? Result<CpuGrant>(*grant) : NoCpuLeft(request, *budget, taken);
}

// Any number of captures may sample a target. Only one may trace its calls, and only one may record its GPU; the
// kernel's locks in the target enforce that. This finds the capture that may hold it, for the message of a refusal, if
// the caller may see that capture.
std::string CaptureAdmission::FindRival(const CaptureCreation& creation,
                                        bool (*holds)(const CaptureTask&, const CaptureSnapshot&)) const {
  for (const auto& [id, entry] : table_.entries()) {
    const CaptureTask& request = entry.session->parameters().request;
    if (TargetOf(request) != TargetOf(creation.request) || !CaptureTable::MaySee(entry, creation.owner)) {
      continue;
    }
    if (const CaptureSnapshot now = entry.session->Snapshot(); !HasEnded(now.state) && holds(request, now)) {
      return fmt::format("capture {} of user {}", id, entry.session->parameters().owner.uid);
    }
  }
  return {};
}

// The message must not reveal that another user's capture has this ID.
Result<void> CaptureAdmission::CheckId(const CaptureCreation& creation) const {
  const auto known = table_.entries().find(creation.id);
  const auto is_it = [&](const CaptureParameters& one) { return one.id == creation.id; };
  const auto is_own = [&](const CaptureParameters& one) { return is_it(one) && one.owner == creation.owner; };
  if (!creation.id.empty() && (table_.IsStarting(is_own) || (known != table_.entries().end() &&
                                                             CaptureTable::MaySee(known->second, creation.owner)))) {
    return Because(Reason::kCaptureExists, fmt::format("capture '{}' already exists", creation.id),
                   "choose another ID, or none", "capture " + creation.id);
  }
  const bool is_taken = !creation.id.empty() && (known != table_.entries().end() || table_.IsStarting(is_it));
  return IsValidId(creation.id) && !is_taken ? Result<void>()
                                             : Error{Code::kInvalidArgument,
                                                     "this capture ID is not allowed: an ID has at most 63 characters, "
                                                     "of a-z, 0-9 and -, and is not one that the daemon reserves",
                                                     "choose another ID, or none"};
}

Result<CpuGrant> CaptureAdmission::CheckNew(const CaptureCreation& creation, const CallerAccess& access,
                                            const UserQuota& quota, std::string& whose) const {
  PP_RETURN_IF_ERROR(CheckOpen());
  PP_RETURN_IF_ERROR(CheckId(creation));
  PP_RETURN_IF_ERROR(CheckLimits(creation, quota, whose));
  return FindCpu(creation.request, access.allowance.cpu_budget());
}

Result<CpuGrant> CaptureAdmission::Check(const CaptureCreation& creation, const UserQuota& quota,
                                         const CallerAccess& access) const {
  std::string whose;
  auto grant = CheckNew(creation, access, quota, whose);
  if (grant.has_error()) {
    Report(access.audit, creation.request, grant.error(), whose);
  }
  return grant;
}

Result<CaptureParameters> CaptureAdmission::Admit(const CaptureCreation& creation, const UserQuota& quota,
                                                  const CallerAccess& access) {
  PP_ASSIGN_OR_RETURN(const CpuGrant grant, Check(creation, quota, access));
  const v1::CaptureSpec& asked = creation.request.spec();
  CaptureParameters parameters{
      .id = creation.id.empty() ? "c" + RandomId() : creation.id,
      .request_id = creation.request_id,
      .asked = SerialisedSpec(creation.request.spec()),
      .owner = creation.owner,
      .request = creation.request,
      .max_bytes = asked.max_bytes() == 0 ? limits_.bytes : std::min(asked.max_bytes(), limits_.bytes),
      .keep = asked.keep(),
      .spool_folder = {},
      .stop_patience = limits_.stop_patience,
      .account = accounts_.Of(creation.owner.uid)};
  Take(grant, parameters);
  parameters.rival = FindRival(creation, TracesCalls);
  if (const std::string holder = FindRival(creation, HoldsGpu); HasGpu(asked) && !holder.empty()) {
    parameters.notices.push_back(fmt::format("the GPU of process {} is recorded by {}: only one capture can record it",
                                             TargetOf(creation.request).value, holder));
  }
  // Also for captures that are already running.
  parameters.account->Limit(quota.bytes.value_or(SpoolAccount::kNoLimit));
  const Nanos longest = LongestDuration(limits_.duration, quota);
  if (longest.value > 0 && DurationOf(parameters.request).value == 0) {
    const bool traces = MayTrace(asked.mode());  // in mode auto the capture may turn out to be sampled only
    SetNanos(longest,
             traces ? parameters.request.mutable_longest() : parameters.request.mutable_spec()->mutable_duration());
  }
  return parameters;
}

// Also counts a capture whose answer the client has not read yet, because the call still holds it.
Result<void> CaptureAdmission::CheckHidden(const CaptureTask& request, uint32_t uid) const {
  const bool is_brief = request.verb() != CaptureTask::RECORD;
  const auto which = is_brief ? IsBrief : IsLive;
  const size_t going_on = table_.CountHidden(uid, which);
  if (going_on < (is_brief ? limits_.brief_per_user : limits_.live_per_user)) {
    return {};
  }
  return OverQuota(uid,
                   fmt::format("has {} {} running, which is the limit", going_on,
                               is_brief ? "dumps, listings and diagnoses" : "live views"),
                   "",
                   is_brief ? "read their answers, or try again in a moment" : "end some of them, or try again later");
}

Result<CpuGrant> CaptureAdmission::CheckNewHidden(const CaptureTask& request, uint32_t uid,
                                                  const CallerAccess& access) const {
  PP_RETURN_IF_ERROR(CheckOpen());
  PP_RETURN_IF_ERROR(CheckHidden(request, uid));
  return FindCpu(request, access.allowance.cpu_budget());
}

Result<CaptureParameters> CaptureAdmission::AdmitHidden(const CaptureTask& request, CaptureUser owner,
                                                        const CallerAccess& access) const {
  const auto grant = CheckNewHidden(request, owner.uid, access);
  if (grant.has_error()) {
    access.audit.Refused(request, grant.error(), "");
    return grant.error();
  }
  CaptureParameters parameters{
      .id = {},
      .owner = owner,
      .request = request,
      .max_bytes = request.verb() == CaptureTask::RECORD ? limits_.live_bytes : limits_.brief_bytes,
      .keep = false,
      .spool_folder = {},
      .stop_patience = limits_.stop_patience};
  Take(grant.value(), parameters);
  return parameters;
}

}  // namespace ptrace_prof
