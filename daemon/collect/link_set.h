// The links of call stacks that were seen to be real: (caller code, instruction of the caller, callee code).
//
// A link enters the set only out of a stack that was exact: read under a stop, or unchanged through repeated reads
// in both orders. A stack all of whose links are in the set is one that the program can have; that is what "verified"
// means (docs/fidelity.md). A thread's outermost code is a link from no caller. One per process; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/base/flat_map.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

struct Link {
  CodeId caller;  // kNoCode: none, the callee is the outermost
  CodeId callee;
  uint64_t instruction = 0;  // of the caller

  bool operator==(const Link&) const = default;
};

struct LinkHash {
  uint64_t operator()(const Link& link) const {
    return MixHash((uint64_t{link.caller.value} << 32) | link.callee.value, link.instruction);
  }
};

class LinkSet {
 public:
  bool Contains(const Link& link) const { return links_.Find(link) != nullptr; }
  // Is `callee` called from elsewhere in `caller`, while nothing is known to be called from that instruction?
  // Then a chain that shows this link is torn, as a rule: the callee has returned and the caller has gone on.
  bool IsLikelyReturned(const Link& link) const {
    return links_.Find({link.caller, link.callee, kAnywhere}) != nullptr &&
           links_.Find({link.caller, kNoCode, link.instruction}) == nullptr;
  }
  // The one place in `caller` that `callee` is called from, as far as is known.
  std::optional<uint64_t> OnlySite(CodeId caller, CodeId callee) const {
    const Link anywhere{caller, callee, kAnywhere};
    const uint32_t* sites = links_.Find(anywhere);
    return sites != nullptr && *sites == 1 ? std::optional(*sites_.Find(anywhere)) : std::nullopt;
  }
  // The one place that `callee` is called from in those functions that `grand_caller` is known to call.
  std::optional<Link> OnlyCallerBelow(CodeId grand_caller, CodeId callee) const {
    const auto callers = callers_.find(callee.value);
    std::optional<Link> only;
    if (callers == callers_.end() || callers->second.size() > kMostCallers) {
      return only;
    }
    for (const Link& link : callers->second) {
      if (links_.Find({grand_caller, link.caller, kAnywhere}) == nullptr) {
        continue;
      }
      if (only.has_value()) {
        return std::nullopt;
      }
      only = link;
    }
    return only;
  }
  // The one place that `callee` is called from, if it is never the outermost.
  std::optional<Link> OnlyCaller(CodeId callee) const {
    const auto callers = callers_.find(callee.value);
    const bool only =
        callers != callers_.end() && callers->second.size() == 1 && callers->second.front().caller != kNoCode;
    return only ? std::optional(callers->second.front()) : std::nullopt;
  }
  void Add(const Link& link) {
    if (!Contains(link)) {
      if (std::vector<Link>& callers = callers_[link.callee.value]; callers.size() <= kMostCallers) {
        callers.push_back(link);
      }
      links_.Insert(link, 1);
      sites_.Insert({link.caller, link.callee, kAnywhere}, link.instruction);
      Count({link.caller, link.callee, kAnywhere});
      Count({link.caller, kNoCode, link.instruction});
    }
  }
  // Has that instruction called one function only, as far as is known?
  bool HasOneCallee(CodeId caller, uint64_t instruction) const {
    const uint32_t* callees = links_.Find({caller, kNoCode, instruction});
    return callees != nullptr && *callees == 1;
  }

 private:
  static constexpr size_t kMostCallers = 16;                // of one function: with more, who knows
  static constexpr uint64_t kAnywhere = uint64_t{1} << 63;  // neither an index (-1 is one) nor an address

  void Count(const Link& entry) {
    uint32_t* count = links_.Find(entry);
    ++(count != nullptr ? *count : *links_.Insert(entry, 0));
  }

  FlatMap<Link, uint32_t, LinkHash> links_;
  FlatMap<Link, uint64_t, LinkHash> sites_;  // the first one
  std::unordered_map<uint32_t, std::vector<Link>> callers_;
};

}  // namespace ptrace_prof
