// A program's queue of calls that its own threads make at their next safe point: a ring of {function, argument} in its
// memory, a lock, a count, and a breaker that makes threads check the queue.
//
// Plain addresses and offsets. The code that finds the queue knows the program (symbolizer/cpython/pending_calls.h);
// the code that queues a call (attach/inject) does not. In memory the count comes first, then the calls, then the two
// ends of the ring. With the words in that order the queue is one piece of at most kMaxCallQueueBytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kMaxCallQueueBytes = 16 << 10;

// What must change for a thread to check the queue: bits in one word, or in one word of each element of a list.
struct EvalBreaker {
  RemoteAddr word;      // null: the list below
  uint8_t width = 4;    // bytes of a word: 4 or 8
  uint64_t bits = 1;    // bits to set; the others stay as they are
  bool forgets = true;  // the program may reset the word although calls wait: set it again until a call is made

  RemoteAddr list_head;     // address of the pointer to the first element
  uint32_t list_next = 0;   // in an element: pointer to the next
  uint32_t list_owner = 0;  // in an element: must equal `owner`, otherwise the element is not in this list
  uint32_t list_word = 0;
  RemoteAddr owner;

  // While the word is set, a thread whose calls are traced makes no step, unless it is the thread that makes the calls
  // (CPython 3.11). So no call may wait in the queue while calls are traced, and the word must not stay set.
  bool holds_traced = false;
  std::array<RemoteAddr, 3> reasons{};  // int32 each; while one is not 0, we must not reset the word
};

// The list of a program's threads, with the flag of each that says whether its calls are traced.
struct TracedFlags {
  RemoteAddr head;         // address of the pointer to the first thread
  uint32_t next = 0;       // in a thread: pointer to the next
  uint32_t native_id = 0;  // uint64: its tid as seen inside the target
  uint32_t frame = 0;      // pointer to a byte that is not 0 while its calls are traced
  uint64_t runner = 0;     // the tid of the thread that makes the calls
};

struct CallQueue {
  RemoteAddr lock;
  uint8_t lock_width = 4;  // 1 or 4
  uint32_t lock_free = 1;  // its value while it is not held

  RemoteAddr count;
  bool counts = false;  // `count` is the number of waiting calls; otherwise a flag: 1 when there may be some
  RemoteAddr calls;
  uint32_t call_size = 16;  // function, argument, and in a larger one a word of flags, which stays 0
  uint32_t slots = 32;
  uint32_t limit = 31;  // the maximal number of waiting calls
  RemoteAddr first;     // int: slot of the oldest call; after it, the slot for the next call

  EvalBreaker breaker;
  std::optional<TracedFlags> traced;  // set if breaker.holds_traced

  size_t size() const { return first + 8 - count; }
};

}  // namespace ptrace_prof
