#include "daemon/server/captures/capture_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "daemon/server/captures/stop_shares.h"

namespace ptrace_prof {
namespace {

std::string ThingOfCapture(const std::string& id) { return "capture " + id; }

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
  retention_.EraseDiscarded();
}

CaptureRegistry::Restored CaptureRegistry::Restore(const std::function<void(const std::string& id)>& on_next) {
  const std::lock_guard lock(mutex_);
  return retention_.Restore(on_next);
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::StartUnlocked(std::unique_lock<std::mutex>& lock,
                                                                       CaptureParameters& parameters,
                                                                       CollectorStarter& starter) {
  parameters.spool_folder = spool_folder_;
  parameters.on_end = listener_.on_end;
  const auto place = table_.BeginStart(parameters);
  lock.unlock();
  auto session = CaptureSession::Start(parameters, starter);
  lock.lock();
  table_.EndStart(place);
  started_.notify_all();
  if (session.has_value() && admission_.is_closed()) {
    session.value()->Cancel(CancelCause::kDaemonEnding);
  }
  return session;
}

Result<void> CaptureRegistry::Check(const Creation& creation, const CallerAccess& access) {
  const UserQuota quota = access.allowance.quota();
  const std::lock_guard lock(mutex_);
  retention_.Expire();
  PP_ASSIGN_OR_RETURN(const auto repeated, admission_.FindRepeated(creation));
  if (repeated == nullptr) {
    PP_RETURN_IF_ERROR(admission_.Check(creation, quota, access));
  }
  return {};
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::Create(const Creation& creation, const CallerAccess& access) {
  const UserQuota quota = access.allowance.quota();
  std::unique_lock lock(mutex_);
  started_.wait(lock, [&] {  // wait for the first attempt with this request_id
    return creation.request_id.empty() || !table_.IsStarting([&](const CaptureParameters& one) {
      return one.request_id == creation.request_id && one.owner == creation.owner;
    });
  });
  retention_.Expire();
  PP_ASSIGN_OR_RETURN(auto repeated, admission_.FindRepeated(creation));
  if (repeated != nullptr) {
    return repeated;
  }
  PP_ASSIGN_OR_RETURN(CaptureParameters parameters, admission_.Admit(creation, quota, access));
  parameters.shelf = shelf_.get();
  PP_ASSIGN_OR_RETURN(auto session, StartUnlocked(lock, parameters, access.starter));
  table_.Add(session);
  ShareStopsAmong(table_.All());
  return session;
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::StartHidden(const CaptureTask& request, CaptureUser owner,
                                                                     const CallerAccess& access) {
  std::unique_lock lock(mutex_);
  retention_.Expire();
  PP_ASSIGN_OR_RETURN(CaptureParameters parameters, admission_.AdmitHidden(request, owner, access));
  PP_ASSIGN_OR_RETURN(auto session, StartUnlocked(lock, parameters, access.starter));
  table_.AddHidden(session);
  ShareStopsAmong(table_.All());
  return session;
}

std::shared_ptr<CaptureSession> CaptureRegistry::FindAnothers(const std::string& id, CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.entries().find(id);
  return found == table_.entries().end() || CaptureTable::MaySee(*found->second.session, caller)
             ? nullptr
             : found->second.session;
}

Result<std::shared_ptr<CaptureSession>> CaptureRegistry::Find(const std::string& id, CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.entries().find(id);
  if (found == table_.entries().end() || !CaptureTable::MaySee(found->second, caller)) {
    return NoSuchCapture(id);
  }
  found->second.session->Attend();
  return found->second.session;
}

std::vector<std::shared_ptr<CaptureSession>> CaptureRegistry::List(CaptureUser caller) {
  const std::lock_guard lock(mutex_);
  return table_.SeenBy(caller);
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
  const CaptureTable::CpuUse cpu = table_.cpu_use();
  usage.cpu_cores = cpu.cores;
  usage.cpu_time = cpu.time;
  usage.brief = table_.CountHiddenRunning(caller);
  return usage;
}

Result<void> CaptureRegistry::Delete(const std::string& id, CaptureUser caller) {
  std::shared_ptr<CaptureSession> doomed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = table_.entries().find(id);
  if (found == table_.entries().end() || !CaptureTable::MaySee(found->second, caller)) {
    return NoSuchCapture(id);
  }
  if (!HasEnded(found->second.session->Snapshot().state)) {
    return Because(Reason::kCaptureNotEnded, fmt::format("capture '{}' is still running", id),
                   "cancel it first, or force it", ThingOfCapture(id));
  }
  doomed = found->second.session;
  return retention_.Delete(found);
}

void CaptureRegistry::Discard(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = table_.entries().find(id); found != table_.entries().end()) {
    found->second.session->Cancel();
    found->second.is_discarded = true;
  }
  retention_.Expire();
}

void CaptureRegistry::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : table_.All()) {
    session->Cancel();
  }
}

void CaptureRegistry::BeginEnding() {
  const std::lock_guard lock(mutex_);
  admission_.Close();
  for (const auto& session : table_.All()) {
    session->Cancel(CancelCause::kDaemonEnding);
  }
}

void CaptureRegistry::HastenEnding() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : table_.All()) {
    session->CancelInHaste();
  }
}

bool CaptureRegistry::AwaitEnds(Nanos deadline) {
  std::vector<std::shared_ptr<CaptureSession>> all;
  {
    std::unique_lock lock(mutex_);
    const std::chrono::nanoseconds left((deadline - MonotonicNow()).value);
    started_.wait_for(lock, left, [this] { return !table_.is_starting_any(); });
    all = table_.All();
  }
  return std::all_of(all.begin(), all.end(), [&](const auto& session) {
    return session->WaitForEnd(std::max(deadline - MonotonicNow(), Nanos()));
  });
}

size_t CaptureRegistry::CountGoingOn() {
  const std::lock_guard lock(mutex_);
  return table_.CountGoingOn();
}

void CaptureRegistry::Expire() {
  const std::lock_guard lock(mutex_);
  EndUnattended();
  retention_.Expire();
  ShareStopsAmong(table_.All());
}

void CaptureRegistry::EndUnattended() {
  for (const auto& [id, entry] : table_.entries()) {
    const CaptureParameters& parameters = entry.session->parameters();
    if (limits_.unattended.value == 0 || parameters.keep || entry.session->UnattendedFor() <= limits_.unattended) {
      continue;
    }
    if (!HasEnded(entry.session->Snapshot().state)) {
      entry.session->Cancel(CancelCause::kUnattended);
    }
  }
}

CaptureRetention::ForgottenTotals CaptureRegistry::forgotten() const {
  const std::lock_guard lock(mutex_);
  return retention_.forgotten();
}

}  // namespace ptrace_prof
