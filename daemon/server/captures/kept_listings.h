// Listings of processes of which a part was given out: kept for a moment, so that the next page is of the same listing,
// whatever came and went meanwhile, and costs no other look at the node.
//
// A listing belongs to the user who asked for it. Bounded: each user has at most so many, the oldest goes first, and
// each lasts at most so long. Owned by the CaptureRegistry. Thread-safe.
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
  std::string filter;                 // what was asked for, to tell another question from the next page
};

class KeptListings {
 public:
  struct Bounds {
    size_t per_user = 4;
    Nanos lifetime = Nanos::FromSeconds(60);
  };
  explicit KeptListings(Bounds bounds) : bounds_(bounds) {}

  // Its ID, not to be guessed.
  std::string Keep(Uid owner, std::shared_ptr<const Listing> listing);
  // Null: there is none (any more), or it is somebody else's.
  std::shared_ptr<const Listing> Find(const std::string& id, Uid asking);
  // Forgets those that are too old; called now and then.
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
