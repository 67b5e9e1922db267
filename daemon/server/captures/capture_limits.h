// The limits of a server's captures, whatever the policy allows a user. Plain data, constant while the server runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

struct CaptureLimits {
  size_t captures_per_user = 64;               // running at once
  size_t brief_per_user = 16;                  // dumps, listings and diagnoses at once, until their answers are sent
  size_t live_per_user = 32;                   // live views at once
  size_t kept_per_user = 256;                  // ended, with their traces; the oldest is forgotten first
  uint64_t brief_bytes = uint64_t{16} << 20;   // of one dump, listing or diagnosis, which is one message
  uint64_t live_bytes = uint64_t{64} << 20;    // of one live view, not yet counted
  uint64_t bytes = uint64_t{8} << 30;          // of one trace
  Nanos duration;                              // of one capture; 0: no limit
  Nanos retention = Nanos::FromSeconds(3600);  // of a trace after its capture ended, unless `keep`
  Nanos kept_for;                              // the same with `keep` too; 0: no limit
  // Of all ended traces; the oldest of the user who stores most is forgotten first; 0: no limit.
  uint64_t kept_bytes = 0;
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was asked to stop, before it is killed
  // A capture without `keep` ends when no client has asked for it for so long; 0: never.
  Nanos unattended = Nanos::FromSeconds(60);
};

}  // namespace ptrace_prof
