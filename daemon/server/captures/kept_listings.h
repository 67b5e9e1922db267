// Listings of processes whose first page was sent. They are kept for a while, so that later pages show the same listing
// even if processes came and went, and need no second look at the node.
//
// A listing belongs to the user who asked for it. The number per user is limited, the oldest is dropped first, and each
// has a limited lifetime. Owned by the CallResources. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "daemon/trace/check.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

struct Listing {
  std::vector<ProcessEntry> entries;  // by process ID
  std::vector<Check> checks;          // why it may lack something
  std::string filter;                 // of the request, to tell a new question from the next page
};

class KeptListings {
 public:
  struct Bounds {
    size_t per_user = 4;
    Nanos lifetime = Nanos::FromSeconds(60);
  };
  explicit KeptListings(Bounds bounds) : bounds_(bounds) {}

  // Returns its ID, which cannot be guessed.
  std::string Keep(Uid owner, std::shared_ptr<const Listing> listing);
  // Null: there is none (any more), or it belongs to another user.
  std::shared_ptr<const Listing> Find(const std::string& id, Uid asking);
  // Forgets expired listings; call it regularly.
  void Expire();

 private:
  struct Entry {
    uint64_t number = 0;  // in the order in which they were kept
    Uid owner;
    Nanos since;
    std::shared_ptr<const Listing> listing;
  };
  void ExpireLocked();

  const Bounds bounds_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  uint64_t next_number_ = 1;
};

}  // namespace ptrace_prof
