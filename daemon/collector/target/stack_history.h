// Where the threads of a target were recently. Launches, which are reported later, are joined with it.
//
// For each thread a list of (time, stack), ordered by time. Traced calls give the stack from that time on (At); samples
// are points (Nearest). Bounded: the oldest notes are forgotten first, and all of them with the StackTable. One per
// target; one thread.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "attach/base/types.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

class StackHistory {
 public:
  explicit StackHistory(const StackTable& stacks) : stacks_(stacks), generation_(stacks.generation()) {}

  // `when` never decreases within a thread.
  void Note(ThreadHandle thread, Nanos when, StackId stack);
  // The stack at that time. Empty: not known.
  std::optional<StackId> At(ThreadHandle thread, Nanos when) const;
  // The stack of the nearest note, if it is at most `most` away.
  std::optional<StackId> Nearest(ThreadHandle thread, Nanos when, Nanos most) const;
  // Call when the thread has ended, as its handle may be reused.
  void Drop(ThreadHandle thread) { threads_.erase(thread.value); }
  // Times before `older` will not be looked up any more.
  void Forget(Nanos older);

  template <typename Visit>
  void ForEachThread(Visit visit) const {
    for (const auto& [thread, notes] : threads_) {
      visit(ThreadHandle(thread));
    }
  }

 private:
  struct Entry {
    Nanos when;
    StackId stack;
  };
  using Notes = std::deque<Entry>;

  Notes::const_iterator After(const Notes& notes, Nanos when) const;
  const Notes* NotesOf(ThreadHandle thread) const;

  const StackTable& stacks_;
  uint32_t generation_;
  std::unordered_map<uint32_t, Notes> threads_;  // by handle
};

}  // namespace ptrace_prof
