// One event of a traced thread: 16 bytes in its ring.
//
// `when_tag` holds the time in its upper 59 bits and the tag in its lower five: ticks of the TSC, or nanoseconds of
// CLOCK_MONOTONIC where the TSC is not fit (pp_channel.clock says which). Times of one ring never decrease. What
// `value` means is said at each tag; addresses are the target's, and as untrusted as all of its memory.
#ifndef PTRACE_PROF_ATTACH_ABI_RECORD_H_
#define PTRACE_PROF_ATTACH_ABI_RECORD_H_

#include "attach/abi/abi.h"

typedef struct pp_record {
  uint64_t when_tag;
  uint64_t value;
} pp_record;
PP_STATIC_ASSERT(sizeof(pp_record) == 16, "four records to a cache line");

enum pp_tag {
  PP_TAG_NONE = 0,  // never written: a hole
  // A frame begins to run; value: its code object.
  PP_TAG_START = 1,   // from its first instruction
  PP_TAG_RESUME = 2,  // a generator or coroutine, after a yield
  PP_TAG_THROW = 3,   // the same, by an exception that was thrown into it (<= 3.10: told as START or RESUME)
  // The innermost frame stops running; value: its code object.
  PP_TAG_RETURN = 4,
  PP_TAG_YIELD = 5,   // suspended: it may be resumed
  PP_TAG_UNWIND = 6,  // left by an exception
  // A call of something that is not Python code.
  // value: the callable (a function object, a method descriptor, a type …)
  PP_TAG_C_CALL = 7,
  PP_TAG_C_RETURN = 8,
  PP_TAG_C_RAISE = 9,
  // Said of the record just before, at the same time.
  PP_TAG_FRAME = 10,  // value: address of the frame; after START, RESUME, THROW, YIELD, RETURN, UNWIND of generators
  // After START of one of pp_channel.module_code, value: its first local (an nn.Module). After a C_CALL, value: the
  // class that has the method which is called, or, of a callable without CODE that is no class itself, its class. Of a
  // method whose PyMethodDef is no other class's, not each time.
  PP_TAG_SELF = 11,
  // Value: PyMethodDef* of the callable of a C_CALL (of a slot, its wrapperbase*, which begins alike; of a wrapper that
  // functools.lru_cache made, the code object that it wraps), read while it was alive.
  PP_TAG_CODE = 12,
  // The ring was full. A pair: the first has the time of the first lost event and value = how many were lost; the
  // second the time when there was room again and value = what they did to the stack (PP_GAP_NET, PP_GAP_LOWEST).
  // Where none was lost, the thread waited for room in between (pp_boot.longest_hold).
  PP_TAG_LOST = 13,
  PP_TAG_LOST_END = 14,
  // Said of the record just before, at the same time, while the channel has a table of pp_mute.
  PP_TAG_CALLER = 15,  // value: the code object that calls; after C_CALL
  // What follows is on another stack of the thread (of a greenlet), or maybe so; value: its outermost frame, + 1 where
  // that is about to begin. Told while there are greenlets, and first of all.
  PP_TAG_SWITCH = 16,
  // Before SWITCH, to a stack of which nothing was told, or not since the last gap; value: code of a frame in it, from
  // the innermost on, at most PP_MAX_TOLD of them.
  PP_TAG_BELOW = 17,
  PP_TAG_LEAVES = 18,  // the thread goes to another stack now, or tries to: of which the next SWITCH tells
};

#define PP_MAX_TOLD 4096u
#define PP_TAG_BITS 5u
#define PP_TAG_MASK 31u

// Of a gap, counting START, RESUME, THROW and C_CALL as +1 and their ends as -1: where the stack's depth was at the end
// of it, and where it was lowest (<= 0), both against the beginning. So -LOWEST frames that were open before the gap
// ended in it, and NET - LOWEST frames that began in it are open after it.
#define PP_GAP(net, lowest) (((uint64_t)(uint32_t)(lowest) << 32) | (uint32_t)(net))
#define PP_GAP_NET(value) ((int32_t)(uint32_t)(value))
#define PP_GAP_LOWEST(value) ((int32_t)(uint32_t)((value) >> 32))

#endif  // PTRACE_PROF_ATTACH_ABI_RECORD_H_
