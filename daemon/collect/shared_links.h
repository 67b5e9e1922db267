// Links that one process of a capture was seen to have, for those that were forked from the same one.
//
// A forked process runs the code of its parent, at the same addresses: what proved possible in one is possible in the
// other, and the workers of a training job, made anew for every epoch, need not be learnt anew. Code is told by its
// identity (code_cache.h), so that a process that merely looks alike shares nothing. Bounded: beyond that, nothing new
// is shared. One per capture; one thread.
#pragma once

#include <cstdint>

#include "attach/base/flat_map.h"

namespace ptrace_prof {

class SharedLinks {
 public:
  struct Key {
    uint64_t caller = 0;  // identities; 0: none
    uint64_t callee = 0;
    uint64_t instruction = 0;
    bool operator==(const Key&) const = default;
  };

  void Add(const Key& link) {
    if (links_.size() < kMostLinks && !Contains(link)) {
      links_.Insert(link, true);
    }
  }
  bool Contains(const Key& link) const { return links_.Find(link) != nullptr; }

 private:
  static constexpr size_t kMostLinks = 1 << 18;
  struct Hash {
    uint64_t operator()(const Key& key) const { return MixHash(MixHash(key.caller, key.callee), key.instruction); }
  };
  FlatMap<Key, bool, Hash> links_;
};

}  // namespace ptrace_prof
