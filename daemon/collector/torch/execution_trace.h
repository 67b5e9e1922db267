// PyTorch's own execution trace of one process: takes the file that the hook has made, and copies what PyTorch writes
// there into our trace, while it is made.
//
// What was read is freed, so the process holds little of it. The file is as untrusted as all memory of a target: only
// the exporter looks into it. It never fails: a notice says what is in the way. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/torch_injection.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

inline constexpr uint64_t kMostExecutionTrace = uint64_t{256} << 20;  // bytes
// That PyTorch writes after it was asked to end.
inline constexpr uint64_t kMostAtItsEnd = uint64_t{64} << 20;

// The name of its memfd in the target.
std::string ExecutionTraceName(uint64_t nonce);

class ExecutionTrace {
 public:
  // The hook has entered. All must outlive this.
  ExecutionTrace(Pid pid, uint64_t nonce, TorchArena& arena, TraceWriter& writer);

  void Poll();
  bool IsOpen() const { return file_.is_open(); }
  // The hook has left, or will not. Copies the rest, and says what is missing.
  void Finish();

 private:
  void Open(uint64_t nonce);
  void Copy(uint64_t most);

  const Pid pid_;
  TorchArena& arena_;
  TraceWriter& writer_;
  UniqueFd file_;
  uint64_t copied_ = 0;
  bool is_limited_ = false;
  std::vector<char> piece_;
};

}  // namespace ptrace_prof
