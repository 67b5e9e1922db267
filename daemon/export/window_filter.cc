#include "daemon/export/window_filter.h"

namespace ptrace_prof {

// Opens or cuts the calls of a thread, if the time until now passed a border of the window.
WindowFilter::Track& WindowFilter::CatchUp(TrackId id, Nanos when) {
  if (id.value >= tracks_.size()) {
    tracks_.resize(id.value + 1);
  }
  Track& track = tracks_[id.value];
  if (!track.is_open && Has(when)) {
    track.is_open = true;
    for (const Call& call : track.open) {
      next_.OnCallBegin(id, window_.begin, call.stack, CallEntry::kRunning, call.generator);
    }
  } else if (track.is_open && !Has(when)) {
    track.is_open = false;
    for (size_t i = track.open.size(); i-- > 0;) {
      next_.OnCallEnd(id, window_.end, track.open[i].stack, CallExit::kCut);
    }
  }
  return track;
}

void WindowFilter::OnCallBegin(TrackId id, Nanos when, StackId stack, CallEntry entry, GeneratorId generator) {
  Track& track = CatchUp(id, when);
  track.open.push_back({stack, generator});
  PassAt(when, [&] { next_.OnCallBegin(id, when, stack, entry, generator); });
}

void WindowFilter::OnCallEnd(TrackId id, Nanos when, StackId stack, CallExit exit) {
  Track& track = CatchUp(id, when);
  if (!track.open.empty()) {
    track.open.pop_back();
  }
  PassAt(when, [&] { next_.OnCallEnd(id, when, stack, exit); });
}

void WindowFilter::Finish() {
  for (size_t i = 0; i < tracks_.size(); ++i) {
    CatchUp(TrackId(static_cast<uint32_t>(i)), window_.end);
  }
}

}  // namespace ptrace_prof
