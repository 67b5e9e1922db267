#include "daemon/server/captures/capture_table.h"

#include <algorithm>

#include "daemon/server/captures/cpu_budget.h"

namespace ptrace_prof {

void CaptureTable::Add(const Session& session, TraceAge age) {
  const CaptureParameters& parameters = session->parameters();
  entries_[parameters.id] = {next_number_++, parameters.request_id, session, false, age};
}

void CaptureTable::DropHidden() {
  std::erase_if(hidden_,
                [](const auto& session) { return session.use_count() == 1 && HasEnded(session->Snapshot().state); });
}

bool CaptureTable::IsStarting(const Which& which) const {
  return std::ranges::any_of(starting_, [&](const CaptureParameters* one) { return which(*one); });
}

size_t CaptureTable::CountStarting(uint32_t owner_uid, const Which& which) const {
  return static_cast<size_t>(std::ranges::count_if(
      starting_, [&](const CaptureParameters* one) { return one->owner.uid == owner_uid && which(*one); }));
}

std::vector<CaptureTable::Session> CaptureTable::All() const {
  std::vector<Session> all = hidden_;
  for (const auto& [id, entry] : entries_) {
    all.push_back(entry.session);
  }
  return all;
}

std::vector<CaptureTable::Session> CaptureTable::SeenBy(CaptureUser who) const {
  std::vector<const Entry*> seen;
  for (const auto& [id, entry] : entries_) {
    if (MaySee(entry, who)) {
      seen.push_back(&entry);
    }
  }
  std::sort(seen.begin(), seen.end(), [](const Entry* a, const Entry* b) { return a->number > b->number; });
  std::vector<Session> sessions;
  for (const Entry* entry : seen) {
    sessions.push_back(entry->session);
  }
  return sessions;
}

size_t CaptureTable::CountRunning(uint32_t owner_uid) const {
  const auto is_listed = [](const CaptureParameters& parameters) { return !parameters.id.empty(); };
  return CountStarting(owner_uid, is_listed) +
         static_cast<size_t>(std::ranges::count_if(entries_, [&](const auto& known) {
           const CaptureSession& session = *known.second.session;
           return session.parameters().owner.uid == owner_uid && !HasEnded(session.Snapshot().state);
         }));
}

size_t CaptureTable::CountHidden(uint32_t owner_uid, const Which& which) const {
  return CountStarting(owner_uid, which) + static_cast<size_t>(std::ranges::count_if(hidden_, [&](const auto& session) {
           return session->parameters().owner.uid == owner_uid && which(session->parameters());
         }));
}

size_t CaptureTable::CountHiddenRunning(CaptureUser seen_by) const {
  return static_cast<size_t>(std::ranges::count_if(
      hidden_, [&](const auto& session) { return MaySee(*session, seen_by) && !HasEnded(session->Snapshot().state); }));
}

size_t CaptureTable::CountGoingOn() const {
  const auto all = All();
  return starting_.size() + static_cast<size_t>(std::ranges::count_if(
                                all, [](const auto& session) { return !HasEnded(session->Snapshot().state); }));
}

CaptureTable::CpuUse CaptureTable::cpu_use() const {
  CpuUse use;
  for (const auto& session : All()) {
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

}  // namespace ptrace_prof
