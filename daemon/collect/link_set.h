// The links of call stacks that were seen to be real: (caller code, instruction of the caller, callee code).
//
// A link enters the set only out of a stack that was exact: read under a stop, or unchanged through repeated reads
// in both orders. A stack all of whose links are in the set is one that the program can have; that is what "verified"
// means (docs/fidelity.md). A thread's outermost code is a link from no caller. One per process; not thread-safe.
#pragma once

#include <cstdint>

#include "attach/base/flat_map.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

struct Link {
  CodeId caller;  // kNoCode: none, the callee is the outermost
  CodeId callee;
  uint64_t instruction = 0;  // of the caller

  bool operator==(const Link&) const = default;
};

class LinkSet {
 public:
  bool Contains(const Link& link) { return links_.Find(link) != nullptr; }
  void Add(const Link& link) {
    if (!Contains(link)) {
      links_.Insert(link, true);
    }
  }
  size_t size() const { return links_.size(); }
  void Clear() { links_.Clear(); }

 private:
  struct Hash {
    uint64_t operator()(const Link& link) const {
      return MixHash((uint64_t{link.caller.value} << 32) | link.callee.value, link.instruction);
    }
  };
  FlatMap<Link, bool, Hash> links_;
};

}  // namespace ptrace_prof
