#include "daemon/server/captures/capture_retention.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attach/base/wall_clock.h"
#include "daemon/server/captures/excess_traces.h"

namespace ptrace_prof {

CaptureRetention::Restored CaptureRetention::Restore(const std::function<void(const std::string& id)>& on_next) {
  Restored restored;
  if (shelf_ == nullptr) {
    return restored;
  }
  for (CaptureShelf::Found& found : shelf_->TakeStock(on_next, listener_.on_trouble)) {
    ++restored.captures;
    restored.interrupted += found.was_interrupted ? 1 : 0;
    found.record.parameters.account = accounts_.Of(found.record.parameters.owner.uid);
    auto session = CaptureSession::Restore(std::move(found));
    const TraceAge age(RealtimeNow() - session->Snapshot().ended);
    table_.Add(session, age);
  }
  Expire();
  return restored;
}

void CaptureRetention::Expire() {
  table_.DropHidden();
  ExpireByAmount(ExpireByAge());
}

std::vector<CaptureTable::Entries::iterator> CaptureRetention::ExpireByAge() {
  const Nanos now = MonotonicNow();
  std::vector<std::pair<Nanos, Entries::iterator>> stay;
  for (auto at = table_.entries().begin(); at != table_.entries().end();) {
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

void CaptureRetention::ExpireByAmount(const std::vector<Entries::iterator>& ended) {
  std::vector<KeptTrace> kept;
  for (const auto& entry : ended) {
    const CaptureSession& session = *entry->second.session;
    kept.push_back({session.parameters().owner.uid, session.spool().size()});
  }
  for (const ExcessTrace& excess : FindExcessTraces(kept, limits_.kept_per_user, limits_.kept_bytes)) {
    Forget(ended[excess.index], excess.why);
  }
}

void CaptureRetention::Forget(Entries::iterator entry, std::string_view why) {
  const CaptureSession& session = *entry->second.session;
  const uint64_t bytes = session.spool().size();
  ++forgotten_.captures;
  forgotten_.bytes += bytes;
  listener_.on_forgotten({entry->first, session.parameters().owner.uid, bytes, why});
  Erase(entry);
}

Result<void> CaptureRetention::Delete(Entries::iterator entry) {
  PP_RETURN_IF_ERROR(shelf_ != nullptr ? shelf_->Remove(entry->first) : Result<void>());
  Erase(entry);
  return {};
}

void CaptureRetention::EraseDiscarded() {
  for (auto at = table_.entries().begin(); at != table_.entries().end();) {
    at = at->second.is_discarded ? Erase(at) : std::next(at);
  }
}

CaptureTable::Entries::iterator CaptureRetention::Erase(Entries::iterator entry) {
  if (shelf_ != nullptr) {
    (void)shelf_->Remove(entry->first);  // if this fails, the next start finds it
  }
  return table_.entries().erase(entry);
}

}  // namespace ptrace_prof
