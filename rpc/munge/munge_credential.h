// Credentials of munged, the daemon of a cluster that knows on each host which user asks it for one: made for the user
// of this process, and read again on another host with the same key. The one place that knows libmunge.
//
// Stateless; any thread. Blocks while munged works, and where it is silent for as long as libmunge likes to try again,
// which is many seconds: whoever must not wait asks munge_worker.h.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr char kUsualMungeSocket[] = "/run/munge/munge.socket.2";

// What munged says of a good credential.
struct MungeWord {
  Uid uid;  // of who had it made
  std::string payload;
};

// kUnavailable: munged does not answer at that socket.
Result<std::string> MakeMungeCredential(const std::string& payload, const std::string& socket);

// Only once: munged remembers. kUnauthenticated, with munged's words: expired, rewound, replayed, made with another
// key, or none at all; kUnavailable as above.
Result<MungeWord> ReadMungeCredential(const std::string& credential, const std::string& socket);

// Whether somebody listens there; never waits. munged notes each such visit in its log. kUnavailable: nobody.
Result<void> KnockAtMunged(const std::string& socket);

}  // namespace ptrace_prof
