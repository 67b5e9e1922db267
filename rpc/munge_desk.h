// Reads MUNGE credentials for threads that must not be kept waiting, such as gRPC's: a thread of its own talks to
// munged, and who asks waits for a bounded time.
//
//   answered in time (munged takes less than a millisecond) ──────────────────► that answer
//   no answer for a moment ──► nobody is at the socket ───────────────────────► refused at once, with its name
//                         └──► somebody is ──► no answer in all the time ─────► refused
// Of several, one waits that long, the others a moment.
// After a refusal of the last two kinds all who ask are refused at once with the same words, for a second and for as
// long as libmunge is still trying. So a munged that hangs or has gone costs those who do not need it next to nothing.
//
// Any thread may ask. It starts its thread when it is asked first; at its end it leaves one alone that munged keeps
// waiting.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/munge_credential.h"

namespace ptrace_prof {

struct MungePatience {
  Nanos before_knocking = Nanos::FromMillis(100);
  Nanos after_knocking = Nanos::FromMillis(900);
  Nanos after_trouble = Nanos::FromMillis(1000);
};

// munged, as the desk needs it: tests have others.
struct MungedCalls {
  std::function<Result<MungeWord>(const std::string& credential, const std::string& socket)> read = ReadMungeCredential;
  std::function<Result<void>(const std::string& socket)> knock = KnockAtMunged;
};

class MungeDesk {
 public:
  explicit MungeDesk(MungedCalls munged = {}, MungePatience patience = {});
  ~MungeDesk();
  MungeDesk(const MungeDesk&) = delete;
  MungeDesk& operator=(const MungeDesk&) = delete;

  // As ReadMungeCredential, in a second at the most. kUnavailable, too: munged does not answer in that time.
  Result<MungeWord> Read(const std::string& credential, const std::string& socket);

 private:
  struct Question;
  struct State;

  static void Run(const std::shared_ptr<State>& state);
  Result<MungeWord> GiveUp(const std::shared_ptr<Question>& question, const Error& why);

  const MungePatience patience_;
  const std::shared_ptr<State> state_;  // the thread's, too
  std::thread thread_;
};

}  // namespace ptrace_prof
