// Puts the records of all rings into the order of time: what one thread frees, another has allocated.
//
// Records wait until no earlier one can come any more, up to a limit. Those of one ring are in order already. One
// owner, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "attach/base/types.h"

namespace ptrace_prof {

class TorchMerge {
 public:
  // Records of one ring, from one begin to the next.
  using Feed = std::function<void(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records)>;

  // `tid`, `thread`: the thread that owns the ring. A ring gets another owner only after IsEmpty.
  void Add(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records);
  bool IsEmpty(size_t ring) const;
  // Gives away all records up to that time of the hook's clock.
  void Take(uint64_t until, const Feed& feed);
  void TakeAll(const Feed& feed) { Take(UINT64_MAX >> PP_TAG_BITS, feed); }

 private:
  struct Lane {
    Tid tid;
    uint64_t thread = 0;
    std::vector<pp_record> records;
    size_t at = 0;      // before it all were given away
    uint64_t last = 0;  // time of the newest that was given away

    bool is_empty() const { return at == records.size(); }
    uint64_t When() const;  // of the next record
    void Step();            // over it and its payload
  };

  std::map<size_t, Lane> lanes_;
};

}  // namespace ptrace_prof
