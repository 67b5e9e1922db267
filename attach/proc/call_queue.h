// Where a program keeps calls that its own threads shall make at their next safe point: a ring of {function, argument}
// in its memory, a lock, a count, and a bell that makes threads look there.
//
// Plain addresses and offsets. Who found the queue knows what program that is (symbolizer/cpython/pending_calls.h);
// who puts a call there (attach/inject) does not. In memory the count comes first, then the calls, then the two ends
// of the ring: with the words in that order the whole is one piece of at most kMaxCallQueueBytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kMaxCallQueueBytes = 16 << 10;

// What must change for a thread to look at the queue: bits in one word, or in one word of each element of a list.
struct CallBell {
  RemoteAddr word;      // null: the list below
  uint8_t width = 4;    // bytes of a word: 4 or 8
  uint64_t bits = 1;    // set, the others stay as they are
  bool forgets = true;  // the program may reset the word although calls wait: ring again until one is made

  RemoteAddr list_head;     // where the address of the first element is
  uint32_t list_next = 0;   // in an element: the address of the next
  uint32_t list_owner = 0;  // in an element: `owner`, else it is none of this list
  uint32_t list_word = 0;
  RemoteAddr owner;
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

  CallBell bell;

  size_t size() const { return first + 8 - count; }
};

}  // namespace ptrace_prof
