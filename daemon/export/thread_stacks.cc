#include "daemon/export/thread_stacks.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/export/function_table.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostStretches = 1 << 24;

}  // namespace

ThreadStacks::Thread ThreadStacks::ThreadOf(TrackId track) const {
  const ThreadInfo& info = recording_.threads[track.value].info;
  return {info.pid.value, info.tid.value};
}

void ThreadStacks::OnSpan(const Span& span) {
  if (!recording_.exact) {
    return;
  }
  std::vector<Stretch>& stretches = stretches_[ThreadOf(span.track)];
  if (!stretches.empty() && stretches.back().stack == span.stack && stretches.back().end == span.start) {
    stretches.back().end = span.end;
  } else if (stretches.size() < kMostStretches) {
    stretches.push_back({span.start, span.end, span.stack});
  }
}

void ThreadStacks::OnSample(TrackId track, Nanos when, StackId stack) {
  std::vector<Stretch>& stretches = stretches_[ThreadOf(track)];
  if (stretches.size() < kMostStretches) {
    stretches.push_back({when, when, stack});
  }
}

std::optional<StackId> ThreadStacks::StackOf(TrackId track, Nanos begin, Nanos end) const {
  const auto thread = stretches_.find(ThreadOf(track));
  if (thread == stretches_.end()) {
    return std::nullopt;
  }
  const auto after = std::ranges::upper_bound(thread->second, recording_.exact ? begin : end, {}, &Stretch::begin);
  if (after == thread->second.begin()) {
    return std::nullopt;
  }
  const Stretch& last = *(after - 1);
  const bool is_there = recording_.exact ? begin <= last.end : last.begin >= begin;
  return is_there ? std::optional(last.stack) : std::nullopt;
}

std::string FrameText(const Frame& frame) {
  return CleanText(frame.file.empty() ? std::string(frame.function)
                                      : fmt::format("{}({}): {}", ShortPath(frame.file), frame.line, frame.function));
}

}  // namespace ptrace_prof
