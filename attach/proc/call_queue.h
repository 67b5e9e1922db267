// Where a program keeps calls that its own threads shall make at their next safe point: a ring of {function, argument}
// in its memory, a lock, a count, and a breaker that makes threads look there.
//
// Plain addresses and offsets. Who found the queue knows what program that is (symbolizer/cpython/pending_calls.h);
// who puts a call there (attach/inject) does not. In memory the count comes first, then the calls, then the two ends
// of the ring: with the words in that order the whole is one piece of at most kMaxCallQueueBytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kMaxCallQueueBytes = 16 << 10;

// What must change for a thread to look at the queue: bits in one word, or in one word of each element of a list.
struct EvalBreaker {
  RemoteAddr word;      // null: the list below
  uint8_t width = 4;    // bytes of a word: 4 or 8
  uint64_t bits = 1;    // set, the others stay as they are
  bool forgets = true;  // the program may reset the word although calls wait: set it again until one is made

  RemoteAddr list_head;     // where the address of the first element is
  uint32_t list_next = 0;   // in an element: the address of the next
  uint32_t list_owner = 0;  // in an element: `owner`, else it is none of this list
  uint32_t list_word = 0;
  RemoteAddr owner;

  // While the word is set, a thread whose calls are traced makes no step, unless it is the one that makes the calls
  // (CPython 3.11): nothing may wait in the queue while calls are traced, and the word must not stay behind.
  bool holds_traced = false;
  std::array<RemoteAddr, 3> reasons{};  // int32 each; while one is not 0, the word is not ours to reset
};

// The threads of a program, and where each says whether its calls are traced.
struct TracedFlags {
  RemoteAddr head;         // where the address of the first thread is
  uint32_t next = 0;       // in a thread: the address of the next
  uint32_t native_id = 0;  // uint64: its tid as the target sees it
  uint32_t frame = 0;      // the address of a byte that is not 0 while its calls are traced
  uint64_t runner = 0;     // the tid of the thread that makes the calls
};

struct CallQueue {
  RemoteAddr lock;
  uint8_t lock_width = 4;  // 1 or 4
  uint32_t lock_free = 1;  // its value while nobody holds it

  RemoteAddr count;
  bool counts = false;  // the number of calls that wait; else only a flag: 1 when there may be some
  RemoteAddr calls;
  uint32_t call_size = 16;  // function, argument, and where it is larger a word of flags, which stays 0
  uint32_t slots = 32;
  uint32_t limit = 31;  // so many may wait
  RemoteAddr first;     // int: slot of the oldest call; behind it the slot of the next one to come

  EvalBreaker breaker;
  std::optional<TracedFlags> traced;  // where breaker.holds_traced

  size_t size() const { return first + 8 - count; }
};

}  // namespace ptrace_prof
