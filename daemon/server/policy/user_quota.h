// How much of the daemon one user may use at once, according to the policy. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct UserQuota {
  std::string name;                // of the policy's entry, for messages; empty: no entry
  std::optional<size_t> captures;  // running at once
  std::optional<uint64_t> bytes;   // of all stored traces together
  std::optional<Nanos> duration;   // of one capture
};

}  // namespace ptrace_prof
