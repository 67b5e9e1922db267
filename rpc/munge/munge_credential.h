// Makes and reads credentials of munged, the daemon of a cluster that vouches on each host for the user who asks it. A
// credential is made for the user of this process and read on another host with the same key. Only this file uses
// libmunge.
//
// Stateless; any thread. Blocks while munged works. If munged is silent, libmunge retries for many seconds: code that
// must not wait uses munge_worker.h.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr char kUsualMungeSocket[] = "/run/munge/munge.socket.2";

// What munged reports about a valid credential.
struct MungeWord {
  Uid uid;  // the user who had it made
  std::string payload;
};

// kUnavailable: munged does not answer at that socket.
Result<std::string> MakeMungeCredential(const std::string& payload, const std::string& socket);

// Works once per credential: munged remembers it. kUnauthenticated, with munged's words: expired, rewound, replayed,
// made with another key, or not a credential; kUnavailable as above.
Result<MungeWord> ReadMungeCredential(const std::string& credential, const std::string& socket);

// Checks whether munged listens there; never waits. munged logs each such visit. kUnavailable: nothing listens.
Result<void> KnockAtMunged(const std::string& socket);

}  // namespace ptrace_prof
