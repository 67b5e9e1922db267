#include "daemon/collector/torch/execution_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attach/abi/torch_arena.h"
#include "attach/inject/target_files.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kTracePrefix = "ptrace-prof-trace.";
constexpr size_t kPieceBytes = size_t{1} << 20;

// By pp_torch_trace_state, at the end; empty: all is well.
constexpr std::string_view kSentences[PP_TORCH_TRACE_STATES] = {
    "PyTorch's execution trace is not recorded: this version has no observer for it (PyTorch 2.0 and later have)",
    "PyTorch's execution trace ends early: the process ran no operator after the recording, at which it could end",
    "PyTorch's execution trace ends early: it was paused, and the thread that it waited for ran no operator",
    "PyTorch's execution trace may end early: the process ran no operator after the recording, at which it could end",
    "",
    "PyTorch's execution trace is not recorded: the process makes one of its own (ExecutionTraceObserver)",
    "PyTorch's execution trace is not recorded: the process cannot make or open a file for it (ulimit -f, ulimit -n)",
    "PyTorch's execution trace ends early: the process has removed PyTorch's observer",
    "",
};

}  // namespace

std::string ExecutionTraceName(uint64_t nonce) { return fmt::format("{}{:016x}", kTracePrefix, nonce); }

ExecutionTrace::ExecutionTrace(Pid pid, uint64_t nonce, TorchArena& arena, TraceWriter& writer)
    : pid_(pid), arena_(arena), writer_(writer) {
  if (arena_.trace_state() == PP_TORCH_TRACE_ON || arena_.trace_state() == PP_TORCH_TRACE_PAUSED) {
    Open(nonce);
  }
}

void ExecutionTrace::Open(uint64_t nonce) {
  Result<UniqueFd> taken = [&]() -> Result<UniqueFd> {
    PP_ASSIGN_OR_RETURN(const TargetFiles files, TargetFiles::Of(pid_));
    PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files.FindMemfds(ExecutionTraceName(nonce), true));
    if (found.empty()) {
      return Error{Code::kNotFound, "the process has closed its file", ""};
    }
    PP_ASSIGN_OR_RETURN(UniqueFd file, files.Take(found.front()));
    struct stat info {};
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || ::fcntl(file.get(), F_GET_SEALS) < 0) {
      return Error{Code::kUnavailable, "its file is not memory", ""};  // reading it could wait
    }
    return file;
  }();
  if (taken.has_error()) {
    writer_.AddNotice(MonotonicNow(),
                      fmt::format("PyTorch's execution trace is not recorded: {}", taken.error().message));
    arena_.EndTrace();
    return;
  }
  file_ = std::move(taken).value();
  piece_.resize(kPieceBytes);
}

void ExecutionTrace::Copy(uint64_t most) {
  while (copied_ < most) {
    const ssize_t got = ::pread(file_.get(), piece_.data(), std::min<uint64_t>(piece_.size(), most - copied_),
                                static_cast<off_t>(copied_));
    if (got <= 0) {
      return;
    }
    writer_.AddExecutionTrace(pid_, {piece_.data(), static_cast<size_t>(got)});
    copied_ += static_cast<uint64_t>(got);
    (void)::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(copied_));
  }
}

void ExecutionTrace::Poll() {
  if (!file_.is_open()) {
    return;
  }
  Copy(kMostExecutionTrace + kMostAtItsEnd);
  if (copied_ >= kMostExecutionTrace && !is_limited_) {
    is_limited_ = true;
    arena_.EndTrace();
    writer_.AddNotice(MonotonicNow(), fmt::format("PyTorch's execution trace ends early: it has reached {} MiB",
                                                  kMostExecutionTrace >> 20));
  }
  if (copied_ >= kMostExecutionTrace + kMostAtItsEnd) {
    (void)::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_GROW);  // it does not end: writing fails, without harm
    file_ = {};
  }
}

void ExecutionTrace::Finish() {
  Poll();
  const uint32_t state = std::min<uint32_t>(arena_.trace_state(), PP_TORCH_TRACE_STATES - 1);
  if (!kSentences[state].empty()) {
    writer_.AddNotice(MonotonicNow(), kSentences[state]);
  }
  if (arena_.trace_pauses() > 0) {
    writer_.AddNotice(MonotonicNow(), fmt::format("PyTorch's execution trace has gaps ({}): a backward pass ran for a "
                                                  "thread that had run no operator since the begin",
                                                  arena_.trace_pauses()));
  }
  file_ = {};
}

}  // namespace ptrace_prof
