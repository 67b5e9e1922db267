// Where the threads of a target were, for the last while: what launches, of which one hears later, are joined to.
//
// For each thread a list of (time, stack), in the order of time. Traced calls give the stack from that time on (At);
// samples are points (Nearest). Bounded: the oldest is forgotten first, and everything with the StackTable. One per
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

  // `when` never goes back on one thread.
  void Note(ThreadHandle thread, Nanos when, StackId stack);
  // On which it stood at that time. Empty: nothing is known of then.
  std::optional<StackId> At(ThreadHandle thread, Nanos when) const;
  // Of the note nearest to it, no further away than `most`.
  std::optional<StackId> Nearest(ThreadHandle thread, Nanos when, Nanos most) const;
  // It has ended; another thread may have its handle from now on.
  void Drop(ThreadHandle thread) { threads_.erase(thread.value); }
  // What is older is not asked for any more.
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
