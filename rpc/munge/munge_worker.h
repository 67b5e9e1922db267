// Reads MUNGE credentials on a thread of its own, so that the callers' threads (gRPC's) wait for a bounded time only.
//
//   answered in time (munged takes less than a millisecond) ────────────────────► that answer
//   no answer for a moment ──► nothing listens at the socket ───────────────────► refused at once, with its name
//                         └──► munged listens ──► no answer in the longer time ─► refused
// Of several callers one waits the longer time, the others a moment. After a refusal of the last two kinds every caller
// is refused at once with the same words, for a second and for as long as libmunge still retries. So callers without a
// credential cause next to no work while munged hangs or is gone.
//
// Any thread may call it. The first call starts the thread. The destructor abandons a thread that waits for munged.
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

// The functions of munged that the worker needs; tests replace them.
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

  // As ReadMungeCredential, in at most a second. kUnavailable also if munged does not answer in that time.
  Result<MungeWord> Read(const std::string& credential, const std::string& socket);

 private:
  struct Question;
  struct State;

  static void Run(const std::shared_ptr<State>& state);
  Result<MungeWord> GiveUp(const std::shared_ptr<Question>& question, const Error& why);

  const MungePatience patience_;
  const std::shared_ptr<State> state_;  // shared with the thread
  std::thread thread_;
};

}  // namespace ptrace_prof
