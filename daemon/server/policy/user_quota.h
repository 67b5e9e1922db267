// How much one user may have of the daemon at once, as the policy says. Pure data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct UserQuota {
  std::string name;                // of the entry of the policy, for messages; empty: there is none
  std::optional<size_t> captures;  // going on at once
  std::optional<uint64_t> bytes;   // of all stored traces together
  std::optional<Nanos> duration;   // of one capture
};

}  // namespace ptrace_prof
