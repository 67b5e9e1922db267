// Reads MUNGE credentials on a thread of its own, so that the callers' threads (gRPC's) wait for a bounded time only.
//
//   answered in time (munged takes less than a millisecond) ──────────────────► that answer
//   no answer for a moment ──► nobody is at the socket ───────────────────────► refused at once, with its name
//                         └──► somebody is ──► no answer in all the time ─────► refused
// Of several callers one waits that long, the others a moment.
// After a refusal of the last two kinds every caller is refused at once with the same words, for a second and for as
// long as libmunge still tries. A munged that hangs or has gone thus costs callers without a credential next to
// nothing.
//
// Any thread may call it. The first call starts the thread; the destructor abandons a thread that munged keeps waiting.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/munge/munge_credential.h"

namespace ptrace_prof {

struct MungePatience {
  Nanos before_knocking = Nanos::FromMillis(100);
  Nanos after_knocking = Nanos::FromMillis(900);
  Nanos after_trouble = Nanos::FromMillis(1000);
};

// munged, as the worker needs it: tests have others.
struct MungedCalls {
  std::function<Result<MungeWord>(const std::string& credential, const std::string& socket)> read = ReadMungeCredential;
  std::function<Result<void>(const std::string& socket)> knock = KnockAtMunged;
};

class MungeWorker {
 public:
  explicit MungeWorker(MungedCalls munged = {}, MungePatience patience = {});
  ~MungeWorker();
  MungeWorker(const MungeWorker&) = delete;
  MungeWorker& operator=(const MungeWorker&) = delete;

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
