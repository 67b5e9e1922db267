// Code objects that a traced target has freed: which object was at an address, and from when to when.
//
// Rings are read one after the other, so events of a thread may be read after later objects at that address were named.
// The last ones are kept, some ten thousand. One owner, one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/freed_code_reader.h"

namespace ptrace_prof {

// `Name`: the name of a function, once it was looked up.
template <typename Name>
class FormerCode {
 public:
  struct Tenant {
    uint64_t since = 0;  // ticks; earlier events belong to another object
    uint64_t until = 0;
    std::optional<Name> name;
    FreedCode reported;
  };

  // Must be later than all that were added before.
  void Add(Tenant tenant) {
    if (young_count_ >= kGeneration) {
      old_ = std::move(young_);
      young_.clear();
      young_count_ = 0;
    }
    ++young_count_;
    const RemoteAddr code = tenant.reported.code;
    young_[code].push_back(std::move(tenant));
  }

  // Null: not known (any more).
  Tenant* Find(RemoteAddr code, uint64_t when) {
    for (auto* tenants : {&young_, &old_}) {
      const auto at = tenants->find(code);
      if (at == tenants->end()) {
        continue;
      }
      const auto tenant =
          std::ranges::partition_point(at->second, [when](const Tenant& one) { return one.until <= when; });
      if (tenant != at->second.end() && tenant->since <= when) {
        return &*tenant;
      }
    }
    return nullptr;
  }

  void Clear() {
    young_.clear();
    old_.clear();
    young_count_ = 0;
  }

 private:
  static constexpr size_t kGeneration = 32'768;

  using Tenants = std::unordered_map<RemoteAddr, std::vector<Tenant>>;
  Tenants young_;
  Tenants old_;
  size_t young_count_ = 0;
};

}  // namespace ptrace_prof
