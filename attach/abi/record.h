// One event of a traced thread: 16 bytes in its ring.
//
// `when_tag` holds the time in its upper 58 bits and the tag in its lower six. The time is in ticks of the TSC, or in
// nanoseconds of CLOCK_MONOTONIC if the TSC is not usable (pp_channel.clock says which). So a time wraps around when
// the machine has been up for 2.2 years at 4 GHz, or for 9.1 years of nanoseconds. A reader takes the interpretation
// that is nearest to the present. Times of one ring never decrease. Each tag says what `value` means. Addresses are the
// target's, and as untrusted as all of its memory.
#ifndef PTRACE_PROF_ATTACH_ABI_RECORD_H_
#define PTRACE_PROF_ATTACH_ABI_RECORD_H_

#include "attach/abi/abi.h"

typedef struct pp_record {
  uint64_t when_tag;
  uint64_t value;
} pp_record;
PP_STATIC_ASSERT(sizeof(pp_record) == 16, "four records to a cache line");

// The kinds of records: X(with, name, tag, roles). Every list of them is generated from this one.
#define PP_FOR_EACH_TAG(X, with)                                                                                       \
  X(with, NONE, 0, 0) /* never written: a hole */                                                                      \
  /* A frame begins to run; value: its code object. START: at its first instruction. */                                \
  X(with, START, 1, PP_OF_FRAME | PP_BEGINS)                                                                           \
  X(with, RESUME, 2, PP_OF_FRAME | PP_BEGINS) /* a generator or coroutine, after a yield */                            \
  /* As RESUME, by an exception thrown into the generator (<= 3.10: recorded as START or RESUME). */                   \
  X(with, THROW, 3, PP_OF_FRAME | PP_BEGINS)                                                                           \
  /* The innermost frame stops running; value: its code object. */                                                     \
  X(with, RETURN, 4, PP_OF_FRAME | PP_ENDS)                                                                            \
  X(with, YIELD, 5, PP_OF_FRAME | PP_ENDS)  /* suspended: it may be resumed */                                         \
  X(with, UNWIND, 6, PP_OF_FRAME | PP_ENDS) /* left by an exception */                                                 \
  /* A call of something that is not Python code; value: the callable (a function object, a type …). */              \
  X(with, C_CALL, 7, PP_OF_CALL | PP_BEGINS)                                                                           \
  X(with, C_RETURN, 8, PP_OF_CALL | PP_ENDS)                                                                           \
  X(with, C_RAISE, 9, PP_OF_CALL | PP_ENDS)                                                                            \
  /* Value: address of the frame; after START, RESUME, THROW, YIELD, RETURN, UNWIND of generators. */                  \
  X(with, FRAME, 10, PP_SAYS_MORE)                                                                                     \
  /* After START of one of pp_channel.self_code, value: its first local (an nn.Module …). After a C_CALL, value: the \
     class that has the called method; for a callable without CODE that is not a class, its class. For a method whose  \
     PyMethodDef belongs to one class only, not after each call. */                                                    \
  X(with, SELF, 11, PP_SAYS_MORE)                                                                                      \
  /* Value: PyMethodDef* of the callable of a C_CALL, read while it was alive. For a slot, its wrapperbase*, which     \
     begins alike; for a wrapper made by functools.lru_cache, the code object that it wraps. */                        \
  X(with, CODE, 12, PP_SAYS_MORE)                                                                                      \
  /* The ring was full. A pair: the first has the time of the first lost event, and value = the number of lost events; \
     the second has the time when there was room again, and value = their effect on the stack (PP_GAP_NET,             \
     PP_GAP_LOWEST). If none was lost, the thread waited for room in between (pp_boot.longest_hold). */                \
  X(with, LOST, 13, 0)                                                                                                 \
  X(with, LOST_END, 14, 0)                                                                                             \
  /* Value: the code object that calls; after C_CALL, while the channel has a table of pp_mute. */                     \
  X(with, CALLER, 15, PP_SAYS_MORE)                                                                                    \
  /* The following records are (or may be) on another stack of the thread, of a greenlet; value: its outermost frame,  \
     + 1 if that frame is about to begin. Written while there are greenlets, and as the first record. */               \
  X(with, SWITCH, 16, 0)                                                                                               \
  /* Before SWITCH to a stack that was not recorded yet, or not since the last gap; value: code of a frame in it, from \
     the innermost on, at most PP_MAX_TOLD of them. */                                                                 \
  X(with, BELOW, 17, 0)                                                                                                \
  /* The thread now switches to another stack, or tries to; the next SWITCH says which. */                             \
  X(with, LEAVES, 18, 0)                                                                                               \
  /* Data too large for one record; value: PP_EXTENDED, with the number of payload units that follow in place of       \
     records. */                                                                                                       \
  X(with, EXTENDED, 19, 0)

enum pp_tag_role {
  PP_BEGINS = 1,
  PP_ENDS = 2,
  PP_OF_FRAME = 4,
  PP_OF_CALL = 8,
  PP_SAYS_MORE = 16,  // additional data of the record just before, at the same time
};

enum pp_tag {
#define PP_TAG_ENUM(with, name, tag, roles) PP_TAG_##name = (tag),
  PP_FOR_EACH_TAG(PP_TAG_ENUM, 0)
#undef PP_TAG_ENUM
};
#define PP_TAG_BITS 6u
#define PP_TAG_MASK ((1u << PP_TAG_BITS) - 1u)

// PP_TAGS_OF: one bit for each tag that has all these roles. PP_TAG_IS: whether `tag`, valid or not, is one of them.
#define PP_TAG_BIT(wanted, name, tag, roles) | (uint64_t)(((roles) & (wanted)) == (wanted)) << (tag)
#define PP_TAGS_OF(roles) (0ull PP_FOR_EACH_TAG(PP_TAG_BIT, roles))
#define PP_TAG_IS(tag, roles) (PP_TAGS_OF(roles) >> ((tag)&PP_TAG_MASK) & 1)

#define PP_MAX_TOLD 4096u

#define PP_WHEN_TAG(when, tag) ((uint64_t)(when) << PP_TAG_BITS | (tag))
#define PP_WHEN(when_tag) ((uint64_t)(when_tag) >> PP_TAG_BITS)
#define PP_TAG(when_tag) ((uint32_t)((when_tag)&PP_TAG_MASK))
// A time of the clock, truncated as in a record.
#define PP_AS_WHEN(time) PP_WHEN((uint64_t)(time) << PP_TAG_BITS)

// The value of an extended record: its kind, the number of payload units that follow, and a word that depends on the
// kind. The whole is published at once and lies in one lap of the ring (channel.h). A reader skips unknown kinds, takes
// a length beyond PP_MAX_UNITS as 0, and does not wait for units once it has read all that was published.
typedef struct pp_unit {
  uint64_t words[2];
} pp_unit;
PP_STATIC_ASSERT(sizeof(pp_unit) == sizeof(pp_record), "in the place of one");

// All of PyTorch: its operators and its memory (torch_arena.h).
#define PP_FOR_EACH_EXTENDED(X)  \
  X(NONE, 0) /* never written */ \
  X(OP, 1)                       \
  X(OP_RAW, 2)                   \
  X(OP_END, 3)                   \
  X(ALLOCATED, 4)                \
  X(FREED, 5)                    \
  X(MEMORY, 6)

enum pp_extended_kind {
#define PP_EXTENDED_ENUM(name, kind) PP_EXTENDED_##name = (kind),
  PP_FOR_EACH_EXTENDED(PP_EXTENDED_ENUM)
#undef PP_EXTENDED_ENUM
};

#define PP_MAX_UNITS 512u
#define PP_CALL_UNITS 64u /* of a record of the tracer stub: it fits into any of its rings */
#define PP_EXTENDED(kind, units, word) ((uint64_t)(word) << 32 | (uint64_t)(units) << 16 | (kind))
#define PP_EXTENDED_KIND(value) ((uint32_t)((value)&0xffffu))
#define PP_EXTENDED_UNITS(value) ((uint32_t)((value) >> 16 & 0xffffu))
#define PP_EXTENDED_WORD(value) ((uint32_t)((value) >> 32))

// The effect of a gap on the stack, counting START, RESUME, THROW and C_CALL as +1 and their ends as -1: the depth at
// the end of the gap (NET) and the lowest depth in it (LOWEST, <= 0), both relative to its beginning. So -LOWEST frames
// that were open before the gap ended in it, and NET - LOWEST frames that began in it are open after it.
#define PP_GAP(net, lowest) (((uint64_t)(uint32_t)(lowest) << 32) | (uint32_t)(net))
#define PP_GAP_NET(value) ((int32_t)(uint32_t)(value))
#define PP_GAP_LOWEST(value) ((int32_t)(uint32_t)((value) >> 32))

#endif  // PTRACE_PROF_ATTACH_ABI_RECORD_H_
