#include "daemon/server/captures/capture_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "attach/base/clean_text.h"
#include "attach/base/wall_clock.h"
#include "daemon/server/captures/excess_traces.h"
#include "daemon/server/captures/random_id.h"
#include "daemon/server/captures/stop_shares.h"
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
bool IsKept(const CaptureParameters& parameters) { return !parameters.id.empty(); }
bool IsBrief(const CaptureParameters& parameters) { return parameters.request.verb() != CaptureTask::RECORD; }
bool IsLive(const CaptureParameters& parameters) { return !IsKept(parameters) && !IsBrief(parameters); }
bool HoldsGpu(const CaptureTask& request, const CaptureSnapshot&) { return HasGpu(request.spec()); }

std::string ThingOfCapture(const std::string& id) { return "capture " + id; }

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

Error NoSuchCapture(const std::string& id) {
  return Because(Reason::kCaptureNotFound, fmt::format("there is no capture '{}'", id),
                 "ptrace-prof captures list shows the existing ones", ThingOfCapture(id));
}

}  // namespace

CaptureRegistry::CaptureRegistry(std::string spool_folder, CaptureLimits limits, std::unique_ptr<CaptureShelf> shelf,
                                 RegistryListener listener)
    : spool_folder_(std::move(spool_folder)),
      limits_(limits),
      shelf_(std::move(shelf)),
      listener_(std::move(listener)) {}

CaptureRegistry::~CaptureRegistry() {
  CancelAll();
  for (auto at = entries_.begin(); at != entries_.end();) {
    at = at->second.is_discarded ? Erase(at) : std::next(at);
  }
}

bool CaptureRegistry::MaySee(const CaptureSession& session, CaptureUser who) {
  return who.is_administrator || session.parameters().owner == who;
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::FindRepeated(const Creation& creation) const {
  for (const auto& [id, entry] : entries_) {
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

bool CaptureRegistry::IsStarting(const std::function<bool(const CaptureParameters&)>& which) const {
  return std::ranges::any_of(starting_, [&](const CaptureParameters* one) { return which(*one); });
}

size_t CaptureRegistry::CountStarting(uint32_t owner_uid, bool (*which)(const CaptureParameters&)) const {
  return static_cast<size_t>(std::ranges::count_if(
      starting_, [&](const CaptureParameters* one) { return one->owner.uid == owner_uid && which(*one); }));
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::StartUnlocked(std::unique_lock<std::mutex>& lock,
                                                                       const CaptureParameters& parameters,
                                                                       CollectorStarter& starter) {
  const auto place = starting_.insert(starting_.end(), &parameters);
  lock.unlock();
  auto session = CaptureSession::Start(parameters, starter);
  lock.lock();
  starting_.erase(place);
  started_.notify_all();
  if (session.has_value() && is_ending_) {
    session.value()->Cancel(CancelCause::kDaemonEnding);
  }
  return session;
}

Result<void> CaptureRegistry::CheckLimits(const Creation& creation, const UserQuota& quota, std::string& whose) const {
  const uint32_t uid = creation.owner.uid;
  const size_t running =
      CountStarting(uid, IsKept) + static_cast<size_t>(std::ranges::count_if(entries_, [&](const auto& known) {
        const CaptureSession& session = *known.second.session;
        return session.parameters().owner.uid == uid && !HasEnded(session.Snapshot().state);
      }));
  if (const size_t most = std::min(limits_.captures_per_user, quota.captures.value_or(SIZE_MAX)); running >= most) {
    whose = most < limits_.captures_per_user ? quota.name : "";
    return OverQuota(uid, fmt::format("has {} running captures, and the limit is {}", running, most), whose,
                     "end one of them: ptrace-prof captures list, ptrace-prof captures cancel ID");
  }
  const auto account = accounts_.find(uid);
  const uint64_t stored = account == accounts_.end() ? 0 : account->second->used();
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

Result<void> CaptureRegistry::CheckNotEnding() const {
  return is_ending_ ? Because(Reason::kDaemonEnding, "ptrace-profd is shutting down and starts nothing new",
                              "try again when it runs again, or do without it: --host none")
                    : Result<void>();
}

std::shared_ptr<SpoolAccount> CaptureRegistry::AccountOf(uint32_t uid) {
  std::erase_if(accounts_, [](const auto& known) { return known.second.use_count() == 1; });
  auto& account = accounts_[uid];
  if (account == nullptr) {
    account = std::make_shared<SpoolAccount>();
  }
  return account;
}

CaptureRegistry::CpuUse CaptureRegistry::CpuUseLocked() const {
  CpuUse use;
  for (const auto& session : AllLocked()) {
    if (const CaptureSnapshot now = session->Snapshot(); !HasEnded(now.state)) {
      use.cores += CpuTaken(session->parameters(), now);
      use.time = use.time + now.cpu;
    }
  }
  for (const CaptureParameters* one : starting_) {
    use.cores += one->cpu_cores;
  }
  return use;
}

Result<CpuGrant> CaptureRegistry::FindCpu(const CaptureTask& request, std::optional<double> budget) const {
  if (!budget.has_value()) {
    return CpuGrant{};
  }
  const double taken = CpuUseLocked().cores;
  const auto grant = GrantCpu(request, *budget - taken);
  return grant.has_value() ? Result<CpuGrant>(*grant) : NoCpuLeft(request, *budget, taken);
}

void CaptureRegistry::Take(const CpuGrant& grant, CaptureParameters& parameters) {
  parameters.cpu_cores = grant.cores;
  NarrowTo(grant, parameters.request);
  if (grant.is_less) {
    parameters.notices.push_back(NarrowedNotice(grant));
  }
}

// Any number of captures may sample a target. Only one may trace its calls, and only one may record its GPU; the
// kernel's locks in the target enforce that. This finds the capture that may hold it, for the message of a refusal, if
// the caller may see that capture.
std::string CaptureRegistry::FindRival(const Creation& creation,
                                       bool (*holds)(const CaptureTask&, const CaptureSnapshot&)) const {
  for (const auto& [id, entry] : entries_) {
    const CaptureTask& request = entry.session->parameters().request;
    if (TargetOf(request) != TargetOf(creation.request) || !MaySee(entry, creation.owner)) {
      continue;
    }
    if (const CaptureSnapshot now = entry.session->Snapshot(); !HasEnded(now.state) && holds(request, now)) {
      return fmt::format("capture {} of user {}", id, entry.session->parameters().owner.uid);
    }
  }
  return {};
}

// The message must not reveal that another user's capture has this ID.
Result<void> CaptureRegistry::CheckId(const Creation& creation) const {
  const auto known = entries_.find(creation.id);
  const auto is_it = [&](const CaptureParameters& one) { return one.id == creation.id; };
  const auto is_own = [&](const CaptureParameters& one) { return is_it(one) && one.owner == creation.owner; };
  if (!creation.id.empty() &&
      (IsStarting(is_own) || (known != entries_.end() && MaySee(known->second, creation.owner)))) {
    return Because(Reason::kCaptureExists, fmt::format("capture '{}' already exists", creation.id),
                   "choose another ID, or none", ThingOfCapture(creation.id));
  }
  const bool is_taken = !creation.id.empty() && (known != entries_.end() || IsStarting(is_it));
  return IsValidId(creation.id) && !is_taken ? Result<void>()
                                             : Error{Code::kInvalidArgument,
                                                     "this capture ID is not allowed: an ID has at most 63 characters, "
                                                     "of a-z, 0-9 and -, and is not one that the daemon reserves",
                                                     "choose another ID, or none"};
}

Result<CpuGrant> CaptureRegistry::CheckNew(const Creation& creation, const CallerAccess& access, const UserQuota& quota,
                                           std::string& whose) const {
  PP_RETURN_IF_ERROR(CheckNotEnding());
  PP_RETURN_IF_ERROR(CheckId(creation));
  PP_RETURN_IF_ERROR(CheckLimits(creation, quota, whose));
  return FindCpu(creation.request, access.allowance.cpu_budget());
}

Result<void> CaptureRegistry::Check(const Creation& creation, const CallerAccess& access) {
  const UserQuota quota = access.allowance.quota();
  const std::lock_guard lock(mutex_);
  ExpireLocked();
  PP_ASSIGN_OR_RETURN(const auto repeated, FindRepeated(creation));
  if (repeated == nullptr) {
    std::string whose;
    if (const auto grant = CheckNew(creation, access, quota, whose); grant.has_error()) {
      Report(access.audit, creation.request, grant.error(), whose);
      return grant.error();
    }
  }
  return {};
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::Create(const Creation& creation, const CallerAccess& access) {
  const UserQuota quota = access.allowance.quota();
  std::unique_lock lock(mutex_);
  started_.wait(lock, [&] {  // wait for the first attempt with this request_id
    return creation.request_id.empty() || !IsStarting([&](const CaptureParameters& one) {
             return one.request_id == creation.request_id && one.owner == creation.owner;
           });
  });
  ExpireLocked();
  PP_ASSIGN_OR_RETURN(auto repeated, FindRepeated(creation));
  if (repeated != nullptr) {
    return repeated;
  }
  std::string whose;
  const auto grant = CheckNew(creation, access, quota, whose);
  if (grant.has_error()) {
    Report(access.audit, creation.request, grant.error(), whose);
    return grant.error();
  }
  const v1::CaptureSpec& asked = creation.request.spec();
  CaptureParameters parameters{
      .id = creation.id.empty() ? "c" + RandomId() : creation.id,
      .request_id = creation.request_id,
      .asked = SerialisedSpec(creation.request.spec()),
      .owner = creation.owner,
      .request = creation.request,
      .max_bytes = asked.max_bytes() == 0 ? limits_.bytes : std::min(asked.max_bytes(), limits_.bytes),
      .keep = asked.keep(),
      .spool_folder = spool_folder_,
      .stop_patience = limits_.stop_patience,
      .shelf = shelf_.get(),
      .on_end = listener_.on_end,
      .account = AccountOf(creation.owner.uid)};
  Take(grant.value(), parameters);
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
  PP_ASSIGN_OR_RETURN(auto session, StartUnlocked(lock, parameters, access.starter));
  entries_[parameters.id] = {next_number_++, creation.request_id, session, false};
  ShareStopsAmong(AllLocked());
  return session;
}

// Also counts a capture whose answer the client has not read yet, because the call still holds it.
Result<void> CaptureRegistry::CheckHidden(const CaptureTask& request, uint32_t uid) const {
  const bool is_brief = request.verb() != CaptureTask::RECORD;
  const auto which = is_brief ? IsBrief : IsLive;
  const size_t going_on =
      CountStarting(uid, which) + static_cast<size_t>(std::ranges::count_if(hidden_, [&](const auto& session) {
        return session->parameters().owner.uid == uid && which(session->parameters());
      }));
  if (going_on < (is_brief ? limits_.brief_per_user : limits_.live_per_user)) {
    return {};
  }
  return OverQuota(uid,
                   fmt::format("has {} {} running, which is the limit", going_on,
                               is_brief ? "dumps, listings and diagnoses" : "live views"),
                   "",
                   is_brief ? "read their answers, or try again in a moment" : "end some of them, or try again later");
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::StartHidden(const CaptureTask& request, CaptureUser owner,
                                                                     const CallerAccess& access) {
  std::unique_lock lock(mutex_);
  ExpireLocked();
  auto possible = CheckNotEnding();
  possible = possible.has_error() ? std::move(possible) : CheckHidden(request, owner.uid);
  if (possible.has_error()) {
    access.audit.Refused(request, possible.error(), "");
    return std::move(possible).error();
  }
  const auto grant = FindCpu(request, access.allowance.cpu_budget());
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
      .spool_folder = spool_folder_,
      .stop_patience = limits_.stop_patience,
      .on_end = listener_.on_end};
  Take(grant.value(), parameters);
  PP_ASSIGN_OR_RETURN(auto session, StartUnlocked(lock, parameters, access.starter));
  hidden_.push_back(session);
  ShareStopsAmong(AllLocked());
  return session;
}

std::shared_ptr<CaptureSession> CaptureRegistry::FindAnothers(const std::string& id, CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() || MaySee(*found->second.session, caller) ? nullptr : found->second.session;
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::Find(const std::string& id, CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || !MaySee(found->second, caller)) {
    return NoSuchCapture(id);
  }
  found->second.session->Attend();
  return found->second.session;
}

std::vector<std::shared_ptr<CaptureSession>> CaptureRegistry::List(CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  std::vector<const Entry*> seen;
  for (const auto& [id, entry] : entries_) {
    if (MaySee(entry, caller)) {
      seen.push_back(&entry);
    }
  }
  std::sort(seen.begin(), seen.end(), [](const Entry* a, const Entry* b) { return a->number > b->number; });
  std::vector<std::shared_ptr<CaptureSession>> sessions;
  for (const Entry* entry : seen) {
    sessions.push_back(entry->session);
  }
  return sessions;
}

CaptureUsage CaptureRegistry::Usage(CaptureUser caller) {
  CaptureUsage usage;
  std::set<uint32_t> users;
  for (const auto& session : List(caller)) {
    const CaptureSnapshot snapshot = session->Snapshot();
    ++usage.by_state[static_cast<size_t>(snapshot.state)];
    usage.trace_bytes += snapshot.trace_bytes;
    users.insert(session->parameters().owner.uid);
  }
  usage.users = users.size();
  const std::lock_guard lock(mutex_);
  const CpuUse cpu = CpuUseLocked();
  usage.cpu_cores = cpu.cores;
  usage.cpu_time = cpu.time;
  usage.brief = static_cast<size_t>(std::count_if(hidden_.begin(), hidden_.end(), [&](const auto& session) {
    return MaySee(*session, caller) && !HasEnded(session->Snapshot().state);
  }));
  return usage;
}

Result<void> CaptureRegistry::Delete(const std::string& id, CaptureUser caller) {
  std::shared_ptr<CaptureSession> doomed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || !MaySee(found->second, caller)) {
    return NoSuchCapture(id);
  }
  if (!HasEnded(found->second.session->Snapshot().state)) {
    return Because(Reason::kCaptureNotEnded, fmt::format("capture '{}' is still running", id),
                   "cancel it first, or force it", ThingOfCapture(id));
  }
  PP_RETURN_IF_ERROR(shelf_ != nullptr ? shelf_->Remove(id) : Result<void>());
  doomed = found->second.session;
  Erase(found);
  return {};
}

void CaptureRegistry::Discard(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(id); found != entries_.end()) {
    found->second.session->Cancel();
    found->second.is_discarded = true;
  }
  ExpireLocked();
}

std::vector<std::shared_ptr<CaptureSession>> CaptureRegistry::AllLocked() const {
  std::vector<std::shared_ptr<CaptureSession>> all = hidden_;
  for (const auto& [id, entry] : entries_) {
    all.push_back(entry.session);
  }
  return all;
}

void CaptureRegistry::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : AllLocked()) {
    session->Cancel();
  }
}

void CaptureRegistry::BeginEnding() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  for (const auto& session : AllLocked()) {
    session->Cancel(CancelCause::kDaemonEnding);
  }
}

void CaptureRegistry::HastenEnding() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : AllLocked()) {
    session->CancelInHaste();
  }
}

bool CaptureRegistry::AwaitEnds(Nanos deadline) {
  std::vector<std::shared_ptr<CaptureSession>> all;
  {
    std::unique_lock lock(mutex_);
    const std::chrono::nanoseconds left((deadline - MonotonicNow()).value);
    started_.wait_for(lock, left, [this] { return starting_.empty(); });
    all = AllLocked();
  }
  return std::all_of(all.begin(), all.end(), [&](const auto& session) {
    return session->WaitForEnd(std::max(deadline - MonotonicNow(), Nanos()));
  });
}

size_t CaptureRegistry::CountGoingOn() {
  const std::lock_guard lock(mutex_);
  const auto all = AllLocked();
  return starting_.size() + static_cast<size_t>(std::ranges::count_if(
                                all, [](const auto& session) { return !HasEnded(session->Snapshot().state); }));
}

void CaptureRegistry::Expire() {
  const std::lock_guard lock(mutex_);
  EndUnattended();
  ExpireLocked();
  ShareStopsAmong(AllLocked());
}

void CaptureRegistry::EndUnattended() {
  for (const auto& [id, entry] : entries_) {
    const CaptureParameters& parameters = entry.session->parameters();
    if (limits_.unattended.value == 0 || parameters.keep || entry.session->UnattendedFor() <= limits_.unattended) {
      continue;
    }
    if (!HasEnded(entry.session->Snapshot().state)) {
      entry.session->Cancel(CancelCause::kUnattended);
    }
  }
}

void CaptureRegistry::ExpireLocked() {
  std::erase_if(hidden_,
                [](const auto& session) { return session.use_count() == 1 && HasEnded(session->Snapshot().state); });
  ExpireByAmount(ExpireByAge());
}

std::vector<CaptureRegistry::Entries::iterator> CaptureRegistry::ExpireByAge() {
  const Nanos now = MonotonicNow();
  std::vector<std::pair<Nanos, Entries::iterator>> stay;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (!HasEnded(entry->second.session->Snapshot().state)) {
      continue;
    }
    const Nanos age = entry->second.age.At(now);
    if (entry->second.is_discarded) {
      Erase(entry);
    } else if ((!entry->second.session->parameters().keep && age >= limits_.retention) ||
               (limits_.kept_for.value > 0 && age >= limits_.kept_for)) {
      Forget(entry, "age");
    } else {
      stay.emplace_back(age, entry);
      if (auto saved = entry->second.session->SaveRecord(); saved.has_error()) {
        listener_.on_trouble(saved.error());
      }
    }
  }
  std::stable_sort(stay.begin(), stay.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first.value, a.second->second.number) < std::pair(-b.first.value, b.second->second.number);
  });
  std::vector<Entries::iterator> ended;
  std::ranges::transform(stay, std::back_inserter(ended), [](const auto& one) { return one.second; });
  return ended;
}

void CaptureRegistry::ExpireByAmount(const std::vector<Entries::iterator>& ended) {
  std::vector<KeptTrace> kept;
  for (const auto& entry : ended) {
    const CaptureSession& session = *entry->second.session;
    kept.push_back({session.parameters().owner.uid, session.spool().size()});
  }
  for (const ExcessTrace& excess : FindExcessTraces(kept, limits_.kept_per_user, limits_.kept_bytes)) {
    Forget(ended[excess.index], excess.why);
  }
}

void CaptureRegistry::Forget(Entries::iterator entry, std::string_view why) {
  const CaptureSession& session = *entry->second.session;
  const uint64_t bytes = session.spool().size();
  ++forgotten_.captures;
  forgotten_.bytes += bytes;
  listener_.on_forgotten({entry->first, session.parameters().owner.uid, bytes, why});
  Erase(entry);
}

CaptureRegistry::Entries::iterator CaptureRegistry::Erase(Entries::iterator entry) {
  if (shelf_ != nullptr) {
    (void)shelf_->Remove(entry->first);  // if this fails, the next start finds it
  }
  return entries_.erase(entry);
}

CaptureRegistry::ForgottenTotals CaptureRegistry::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

CaptureRegistry::Restored CaptureRegistry::Restore(const std::function<void(const std::string& id)>& on_next) {
  Restored restored;
  if (shelf_ == nullptr) {
    return restored;
  }
  const std::lock_guard lock(mutex_);
  for (CaptureShelf::Found& found : shelf_->TakeStock(on_next, listener_.on_trouble)) {
    ++restored.captures;
    restored.interrupted += found.was_interrupted ? 1 : 0;
    const std::string id = found.record.parameters.id;
    found.record.parameters.account = AccountOf(found.record.parameters.owner.uid);
    auto session = CaptureSession::Restore(std::move(found));
    const TraceAge age(RealtimeNow() - session->Snapshot().ended);
    entries_[id] = {next_number_++, session->parameters().request_id, session, false, age};
  }
  ExpireLocked();
  return restored;
}

}  // namespace ptrace_prof
