#include "daemon/trace/read/thread_dump.h"

#include <algorithm>
#include <tuple>

namespace ptrace_prof {

void ThreadDump::OnProcess(const ProcessInfo& process) {
  const auto same = [&](const ProcessInfo& known) { return known.pid == process.pid; };
  if (const auto found = std::find_if(processes_.begin(), processes_.end(), same); found != processes_.end()) {
    *found = process;
  } else {
    processes_.push_back(process);
  }
}

void ThreadDump::OnThread(TrackId track, const ThreadInfo& thread) {
  const auto [at, is_new] = threads_.try_emplace(track);
  at->second.info = thread;
  if (is_new) {
    at->second.was_read = false;  // until there is a sample
    at->second.quality = SampleQuality::kTruncated;
  }
}

void ThreadDump::OnSample(TrackId track, Nanos, StackId stack, SampleQuality quality) {
  DumpedThread& thread = threads_[track];
  thread.quality = quality;
  thread.was_read = true;
  thread.frames.clear();
  thread.locals.clear();
  const StackTable& stacks = reader_.stacks();
  for (StackId at = stack; at != kEmptyStack; at = stacks.parent(at)) {
    const Frame& frame = stacks.frame(stacks.leaf(at));
    const size_t bytes = sizeof frame + frame.function.size() + frame.file.size();
    if (bytes > most_bytes_ - bytes_) {
      thread.quality = SampleQuality::kTruncated;
      return;
    }
    bytes_ += bytes;
    thread.frames.push_back(frame);
  }
}

void ThreadDump::OnState(TrackId track, Nanos, const StateInfo& state) {
  DumpedThread& thread = threads_[track];
  if (state.state == ThreadState::kUnknown && thread.state != ThreadState::kUnknown) {
    return;  // the end of the trace closes all states
  }
  thread.state = state.state;
  thread.holds_gil = state.holds_gil;
  thread.detail = state.detail;
}

void ThreadDump::OnLocals(TrackId track, uint32_t depth_from_leaf, std::span<const LocalVariable> locals) {
  DumpedThread& thread = threads_[track];
  if (depth_from_leaf < thread.frames.size()) {
    thread.locals[depth_from_leaf].assign(locals.begin(), locals.end());
  }
}

std::vector<DumpedProcess> ThreadDump::Processes() const {
  std::vector<DumpedProcess> dumped;
  for (const ProcessInfo& process : processes_) {
    DumpedProcess& one = dumped.emplace_back();
    one.info = process;
    for (const auto& [track, thread] : threads_) {
      if (thread.info.pid == process.pid) {
        one.threads.push_back(thread);
      }
    }
    std::stable_sort(one.threads.begin(), one.threads.end(), [](const DumpedThread& a, const DumpedThread& b) {
      return std::tuple(!a.info.is_main, a.info.tid) < std::tuple(!b.info.is_main, b.info.tid);
    });
  }
  return dumped;
}

}  // namespace ptrace_prof
