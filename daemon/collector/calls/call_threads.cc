#include "daemon/collector/calls/call_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr int kLooks = 3;                // at a thread that has just begun
constexpr uint64_t kBeginningBytes = 8;  // from the first instruction to the one that reports the call

// The frame of the text that brought the stub in, and of the one that called it.
void MarkOwn(RemoteAddr text, std::vector<SnapshotFrame>& frames) {
  const auto loads = std::ranges::find(frames, text, &SnapshotFrame::code);
  if (!text.IsNull() && loads != frames.end()) {
    loads->is_ours = true;
    std::prev(loads, loads != frames.begin())->is_ours = true;
  }
}

}  // namespace

void CallThreads::Begin(ArmingInstant instant, const std::vector<ThreadAtArming>& threads) {
  instant_ = std::move(instant);
  const auto is_known = [this](const ThreadAtArming& at) { return TrackOf(at.entry) != nullptr; };
  if (!std::ranges::all_of(threads, is_known)) {
    parts_.roster.Refresh(MonotonicNow(), parts_.watch);  // some threads began while the others were being stopped
  }
  for (const ThreadAtArming& at : threads) {
    AddSnapshot(at);
  }
}

ThreadTrack* CallThreads::TrackOf(const ThreadEntry& entry) {
  ThreadTrack* track = parts_.roster.Find(entry.state.value);
  return track != nullptr && track->entry.IsSameThread(entry) ? track : nullptr;
}

// For a thread that ended before it could be looked at.
ThreadHandle CallThreads::AddUnseen(Tid tid) {
  return context_.writer.AddThread(
      {.pid = parts_.pid, .tid = tid, .ns_tid = tid, .name = fmt::format("thread {}", tid.value)});
}

SnapshotFrame CallThreads::DescribeFrame(const RawFrame& frame) {
  SnapshotFrame described{.code = RemoteAddr(frame.code), .address = RemoteAddr(frame.address)};
  const Layout& layout = parts_.layout;
  if (layout.Has(&Layout::code_instructions)) {
    const CodeId known = parts_.codes.Find(frame.code);
    const CodeId code = known == kNoCode ? parts_.codes.Read(frame.code) : known;
    const uint64_t at =
        code == kNoCode ? frame.instruction : parts_.codes.Locate(code, frame.instruction).value_or(UINT64_MAX);
    described.at_beginning = at <= frame.code + layout.code_instructions + kBeginningBytes;
  } else {
    described.at_beginning = static_cast<int64_t>(frame.instruction) < 0;
  }
  return described;
}

void CallThreads::AddSnapshot(const ThreadAtArming& at) {
  const ThreadTrack* track = TrackOf(at.entry);
  if (track == nullptr && at.frames.empty()) {
    return;  // there is nothing to write about it yet
  }
  const Tid tid = track != nullptr ? track->info.ns_tid : Tid(static_cast<int32_t>(at.entry.native_id));
  if (!at.is_whole) {
    context_.writer.AddNotice(instant_.time,
                              fmt::format("the first stack of thread {} is incomplete: only its innermost {} "
                                          "frames are known; returns from the others are counted as unmatched",
                                          tid.value, at.frames.size()));
  }
  ThreadSnapshot snapshot;
  snapshot.when = PP_AS_WHEN(instant_.ticks);
  snapshot.frames.reserve(at.frames.size());
  for (auto frame = at.frames.rbegin(); frame != at.frames.rend(); ++frame) {
    snapshot.frames.push_back(DescribeFrame(*frame));
  }
  MarkOwn(instant_.own_text, snapshot.frames);
  for (const CalledModule& module : at.modules) {
    snapshot.frames[at.frames.size() - 1 - module.frame].self = module.self;
  }
  // A ring of a thread that has ended may still name the same state.
  const auto ring = std::ranges::find_if(instant_.rings, [&](const RingFacts& facts) {
    return facts.state == RingState::kLive && facts.thread_state == at.entry.state &&
           (tid == Tid() || facts.tid == tid);
  });
  if (ring != instant_.rings.end() && (ring->last_unarmed & PP_UNARMED_PENDING) == 0) {
    snapshot.SetUnarmed(ring->last_unarmed);
  }
  auto thread = Make(track != nullptr ? track->handle : AddUnseen(tid));
  thread->replayer.Start(snapshot);
  threads_.Put(at.entry.state, tid, std::move(thread));
}

CallThread* CallThreads::Of(const RingFacts& facts) {
  CallThread* known = threads_.Find(facts.thread_state, facts.tid);
  if (known != nullptr && !known->finished) {
    return known;
  }
  const ThreadTrack* track = parts_.roster.Find(facts.thread_state.value);
  const auto is_its = [&facts](const ThreadTrack* found) {
    return found != nullptr && found->info.ns_tid == facts.tid;
  };
  for (int look = 0; look < kLooks && !is_its(track); ++look) {  // the list of threads may change under a look
    parts_.roster.Refresh(MonotonicNow(), parts_.watch);
    track = parts_.roster.Find(facts.thread_state.value);
  }
  const bool is_it = is_its(track);
  const ThreadHandle handle = is_it ? track->handle : AddUnseen(facts.tid);
  auto thread = Make(handle);
  return &threads_.Put(facts.thread_state, facts.tid, std::move(thread));
}

bool CallThreads::HasOpen(RemoteAddr code) const {
  bool is_open = false;
  threads_.ForEach([&](const CallThread& one) { is_open = is_open || one.replayer.HasOpen(code); });
  return is_open;
}

void CallThreads::Finish(Nanos when) {
  threads_.ForEach([when](CallThread& thread) { thread.Finish(when); });
}

void CallThreads::CountInto(Accounting& accounting) const {
  accounting.calls_left_out = accounting.events_outside_steps = 0;
  threads_.ForEach([&](const CallThread& thread) {
    accounting.calls_left_out += thread.filter.left_out();
    accounting.events_outside_steps += thread.gate.left_out();
  });
  accounting.threads = threads_.size();
}

}  // namespace ptrace_prof
