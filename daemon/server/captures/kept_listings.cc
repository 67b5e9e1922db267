#include "daemon/server/captures/kept_listings.h"

#include "daemon/server/captures/random_id.h"

namespace ptrace_prof {

std::string KeptListings::Keep(Uid owner, std::shared_ptr<const Listing> listing) {
  const std::lock_guard lock(mutex_);
  ExpireLocked();
  std::map<uint64_t, std::string> owners;  // oldest first
  for (const auto& [id, entry] : entries_) {
    if (entry.owner == owner) {
      owners[entry.number] = id;
    }
  }
  if (owners.size() >= bounds_.per_user) {
    entries_.erase(owners.begin()->second);
  }
  std::string id = RandomId();
  entries_[id] = {next_number_++, owner, MonotonicNow(), std::move(listing)};
  return id;
}

std::shared_ptr<const Listing> KeptListings::Find(const std::string& id, Uid asking) {
  const std::lock_guard lock(mutex_);
  ExpireLocked();
  const auto found = entries_.find(id);
  return found == entries_.end() || found->second.owner != asking ? nullptr : found->second.listing;
}

void KeptListings::Expire() {
  const std::lock_guard lock(mutex_);
  ExpireLocked();
}

void KeptListings::ExpireLocked() {
  const Nanos now = MonotonicNow();
  std::erase_if(entries_, [&](const auto& kept) { return now - kept.second.since >= bounds_.lifetime; });
}

}  // namespace ptrace_prof
