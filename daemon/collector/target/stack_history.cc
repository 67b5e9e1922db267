#include "daemon/collector/target/stack_history.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNotes = size_t{1} << 20;  // per thread

Nanos TimeApart(Nanos a, Nanos b) { return a > b ? a - b : b - a; }

}  // namespace

void StackHistory::Note(ThreadHandle thread, Nanos when, StackId stack) {
  if (stacks_.generation() != generation_) {
    threads_.clear();
    generation_ = stacks_.generation();
  }
  Notes& notes = threads_[thread.value];
  if (!notes.empty() && notes.back().when == when) {
    notes.back().stack = stack;  // the last note of an instant counts
    return;
  }
  if (notes.size() >= kMaxNotes) {
    notes.pop_front();
  }
  notes.push_back({when, stack});
}

const StackHistory::Notes* StackHistory::NotesOf(ThreadHandle thread) const {
  const auto found = threads_.find(thread.value);
  const bool is_known = stacks_.generation() == generation_ && found != threads_.end() && !found->second.empty();
  return is_known ? &found->second : nullptr;
}

StackHistory::Notes::const_iterator StackHistory::After(const Notes& notes, Nanos when) const {
  return std::ranges::upper_bound(notes, when, {}, &Entry::when);
}

std::optional<StackId> StackHistory::At(ThreadHandle thread, Nanos when) const {
  const Notes* notes = NotesOf(thread);
  if (notes == nullptr) {
    return std::nullopt;
  }
  const auto after = After(*notes, when);
  return after == notes->begin() ? std::nullopt : std::optional(std::prev(after)->stack);
}

std::optional<StackId> StackHistory::Nearest(ThreadHandle thread, Nanos when, Nanos most) const {
  const Notes* notes = NotesOf(thread);
  if (notes == nullptr) {
    return std::nullopt;
  }
  const auto after = After(*notes, when);
  std::optional<Entry> best;
  if (after != notes->end()) {
    best = *after;
  }
  if (after != notes->begin()) {
    const Entry& before = *std::prev(after);
    best = best && TimeApart(best->when, when) < TimeApart(before.when, when) ? *best : before;
  }
  return best && TimeApart(best->when, when) <= most ? std::optional(best->stack) : std::nullopt;
}

// Keeps the last earlier note of each thread, as it holds until the next.
void StackHistory::Forget(Nanos older) {
  for (auto& [thread, notes] : threads_) {
    while (notes.size() > 1 && notes[1].when <= older) {
      notes.pop_front();
    }
  }
}

}  // namespace ptrace_prof
