// The memory that a target and the collector share while a capture traces: one memfd, made and sealed by the target.
//
// Page 0 is the pp_channel; then come `ring_count` ring headers of one page each, then the records of ring 0,
// ring 1, … (`ring_records` each), then the table of pp_freed, then that of pp_mute if there is one. The collector maps
// it whole; it trusts none of it: what it needs to know it learnt when it checked the sizes, and everything else is
// bounded when it is read.
//
// Who writes what is said at each field. "armed" does not stand here, because a forked child would share it: it is
// in the pp_private of the target, which the kernel wipes in a child.
#ifndef PTRACE_PROF_ATTACH_ABI_CHANNEL_H_
#define PTRACE_PROF_ATTACH_ABI_CHANNEL_H_

#include "attach/abi/abi.h"
#include "attach/abi/record.h"

#define PP_CHANNEL_MAGIC 0x6c6e6e6168637070ull /* "ppchannl" */
#define PP_PRIVATE_MAGIC 0x6574617669727070ull /* "pprivate" */

enum pp_state {
  PP_STATE_NONE = 0,
  PP_STATE_READY = 1,   // hooks are installed, armed or not
  PP_STATE_LEFT = 2,    // nothing of ours is called any more, the target's mapping is about to go
  PP_STATE_FAILED = 3,  // `error` says why; nothing is installed
};

enum pp_error {
  PP_ERROR_NONE = 0,
  PP_ERROR_PROFILER_PRESENT = 1,  // a foreign profile function (<= 3.11), or no free tool id (3.12+)
  PP_ERROR_PYTHON_CALL = 2,       // a call into the interpreter failed; `error_step` says which
  PP_ERROR_NO_MEMORY = 3,
  PP_ERROR_NO_WIPE_ON_FORK = 4,  // the kernel has no MADV_WIPEONFORK (before 4.14)
  PP_ERROR_TARGET_PID = 5,       // this is a forked copy of the target that was meant
  PP_ERROR_BUSY = 6,             // reserved: pp_boot.busy says it
  PP_ERROR_SYSTEM_CALL = 7,      // `error_step`: which; `error_number`: errno
  PP_ERROR_BOOT = 8,             // pp_boot makes no sense: another abi_version, or sizes out of bounds
};

// What was being done when an error occurred, and in which words a message says so.
#define PP_FOR_EACH_STEP(X)                                        \
  X(NONE, "")                                                      \
  X(MEMFD_CREATE, "making the shared memory (memfd_create)")       \
  X(FTRUNCATE, "sizing the shared memory (ftruncate)")             \
  X(SEAL, "sealing the shared memory (fcntl F_ADD_SEALS)")         \
  X(FSTAT, "identifying the shared memory (fstat)")                \
  X(MAP_CHANNEL, "mapping the shared memory (mmap)")               \
  X(DONT_FORK, "keeping it from children (MADV_DONTFORK)")         \
  X(MAP_PRIVATE, "mapping private memory (mmap)")                  \
  X(WIPE_ON_FORK, "having it wiped in children (MADV_WIPEONFORK)") \
  X(MONITORING, "finding sys.monitoring")                          \
  X(TOOL_ID, "taking a tool id of sys.monitoring")                 \
  X(CALLBACK, "making a callback")                                 \
  X(REGISTER, "registering a callback")                            \
  X(RESTART, "having events of before told again")                 \
  X(SET_EVENTS, "switching events on")                             \
  X(SET_PROFILE, "setting a thread's profile function")

enum pp_step {
#define PP_STEP_ENUM(name, words) PP_STEP_##name,
  PP_FOR_EACH_STEP(PP_STEP_ENUM)
#undef PP_STEP_ENUM
      PP_STEP_COUNT
};

enum pp_clock { PP_CLOCK_TSC = 0, PP_CLOCK_MONOTONIC = 1 };

enum pp_leave_cause {
  PP_LEAVE_NOT = 0,
  PP_LEAVE_ASKED = 1,
  PP_LEAVE_LEASE = 2,   // the collector did not renew its lease
  PP_LEAVE_FORKED = 3,  // a child took the hooks off in itself (never seen here: written to nothing shared)
};

// What events cost, in units of the clock: so much more time do `events` of them take than the same work without any.
typedef struct pp_cost {
  uint64_t events;  // 0: not measured
  uint64_t time;
} pp_cost;

typedef struct pp_channel {
  // Written by the target before `state` becomes READY, never after.
  uint64_t magic;
  uint32_t abi_version;
  uint32_t ring_count;
  uint32_t ring_records;  // of each ring; a power of two
  uint32_t clock;         // pp_clock
  uint64_t nonce;         // pp_boot.nonce: this is the channel that was asked for
  uint64_t private_page;  // address of the pp_private in the target
  uint64_t leave_entry;   // address of int(void*) for the pending queue: takes everything off
  uint64_t size;          // of the memfd, in bytes
  uint32_t tool_id;       // 3.12+; else UINT32_MAX
  uint32_t pad0;
  // Written by the target.
  uint32_t state;  // pp_state, released
  uint32_t error;  // pp_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t leave_cause;          // pp_leave_cause
  uint32_t hooks_displaced;      // <= 3.11: threads on which the job had put its own profile function when we left
  uint64_t events_without_ring;  // no ring was free for that thread; once one is, they are a gap in that

  // Written by the collector.
  uint64_t lease;           // clock value after which the stub leaves by itself
  uint64_t leave;           // != 0: leave at the next event; looked at while unarmed, and when the lease is over
  uint64_t module_code[8];  // code objects whose first local is told (PP_TAG_SELF); from the first on, 0 ends them

  // Written by the target before `state` becomes READY, never after.
  pp_cost frame_cost;  // of START and RETURN
  pp_cost call_cost;   // of C_CALL and C_RETURN; only with PP_BOOT_C_CALLS

  // Written by the target.
  uint64_t watches_code;  // != 0: the pp_freed are told, from before READY until the target begins to leave
  uint64_t freed;         // pp_freed ever told; released after the entry
  uint64_t freed_unsure;  // time; what was freed until then may not have been told
  uint64_t own_text;  // the code of the text that has loaded the stub, until it is freed; its caller is ours as well
} pp_channel;

PP_STATIC_ASSERT(offsetof(pp_channel, nonce) == 24, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, state) == 64, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, lease) == 96, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, module_code) == 112, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, frame_cost) == 176, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, watches_code) == 208, "fixed");
PP_STATIC_ASSERT(sizeof(pp_channel) == 240, "fixed");

enum pp_ring_state {
  PP_RING_FREE = 0,     // by the collector, once it is drained (or from the beginning)
  PP_RING_CLAIMED = 1,  // by a thread of the target, by compare-and-swap
  PP_RING_LIVE = 2,     // by that thread: thread fields are filled in
  PP_RING_ENDED = 3,    // by another thread of the target that found the owner gone; the collector drains and frees
};

typedef struct pp_ring {
  // Producer's line.
  uint64_t head;        // records ever published; released after the record
  uint64_t full_at;     // the head from which on the thread looks whether there is room for an event
  uint64_t lost;        // of the present gap
  uint64_t lost_since;  // time of its first event
  uint64_t lost_total;
  int32_t lost_net;  // as PP_GAP_NET and PP_GAP_LOWEST, so far
  int32_t lost_lowest;
  uint64_t last_unarmed;  // see below
  uint64_t last_time;     // of the last record: times never decrease
  // Consumer's line.
  uint64_t tail;  // records ever consumed
  uint64_t pad1[7];
  // Filled in when claimed.
  uint32_t state;         // pp_ring_state
  int32_t tid;            // as gettid(2) says in the target
  uint64_t thread_state;  // address of the PyThreadState
  // Written by its threads, of all of them together.
  uint64_t holds;      // how often one waited for room (pp_boot.longest_hold); counted as it begins to
  uint64_t held_time;  // how long, in the clock's units, once it is over
  // Of the present thread.
  uint64_t first_frame;  // that was innermost at its first record; 0: there is none yet
  uint64_t pad2[3];
} pp_ring;

PP_STATIC_ASSERT(offsetof(pp_ring, tail) == 64, "a line each");
PP_STATIC_ASSERT(offsetof(pp_ring, state) == 128, "a line each");
PP_STATIC_ASSERT(offsetof(pp_ring, holds) == 144, "fixed");
PP_STATIC_ASSERT(sizeof(pp_ring) == 192, "fixed");

// A ring of more than PP_CHUNK_LEAST records is used in chunks, so that a thread whose events are drained in time goes
// on in the same few of them: memory that is mapped, and in its caches. Records are counted on through all of it; so
// many as fit into a chunk are a lap, and which chunk a lap is in stands in a table behind the pp_ring, at PP_LAPS_AT,
// at its number modulo the number of chunks. An event's records are of one lap: at the end of one, some may be unused.
// The entry is written before the head passes the first record of the lap; what is unused, before it passes the last.
#define PP_CHUNK_LEAST (1u << 14)
#define PP_MAX_CHUNKS 512u
#define PP_CHUNK_RECORDS(records)                                           \
  ((records) <= 4u * PP_CHUNK_LEAST             ? (records)                 \
   : (records) / PP_MAX_CHUNKS > PP_CHUNK_LEAST ? (records) / PP_MAX_CHUNKS \
                                                : PP_CHUNK_LEAST)
typedef uint32_t pp_lap;
#define PP_LAP(chunk, unused) ((uint32_t)(unused) << 16 | (uint32_t)(chunk))
#define PP_LAP_CHUNK(lap) ((lap)&0xffffu)
#define PP_LAP_UNUSED(lap) ((lap) >> 16 & 0xffu)
#define PP_LAPS_AT 256u
PP_STATIC_ASSERT(PP_LAPS_AT >= sizeof(pp_ring) && PP_LAPS_AT + PP_MAX_CHUNKS * sizeof(pp_lap) <= PP_PAGE, "one page");
PP_STATIC_ASSERT(PP_MAX_RING_RECORDS / PP_CHUNK_RECORDS(PP_MAX_RING_RECORDS) <= PP_MAX_CHUNKS, "fit");

// pp_ring.last_unarmed: the last event that the thread had while unarmed, as the frame that it was about and its tag.
// It says on which side of the arming stop a thread falls that was stopped between an event and the next instruction.
// Where its frame is the one on top of the thread's stack:
//   - tag START, RESUME, THROW, C_CALL or an end of C_CALL: no record of that comes. The frame belongs to the initial
//     stack; after C_CALL it is inside that call, whose end comes.
//   - tag RETURN, YIELD, UNWIND: no record of that comes; the frame does not belong to the initial stack. (Or it is a
//     new one at the same address, whose START comes.)
//   - with PP_UNARMED_PENDING: the thread has not decided yet. The collector sets the word to 0 and `armed` to 1 during
//     the same stop, and so decides: a record of this event comes. The frame belongs to the initial stack unless the
//     tag is START, RESUME or THROW.
// Where it is another frame: the one on top belongs to the initial stack, unless the first record of the ring says that
// it begins (pp_ring.first_frame tells of which frame that is). The thread writes the word with PENDING, looks at
// `armed` again, and exchanges the word for itself without PENDING; finding another one than it wrote, it records.
// Valid for the first arming of a channel; before a second one the collector sets all words to 0 while `armed` is 1,
// during a stop.
#define PP_UNARMED_SHIFT (PP_TAG_BITS + 1u) /* an address has 57 bits */
#define PP_UNARMED_PENDING (1ull << PP_TAG_BITS)
#define PP_UNARMED(frame, tag) (((uint64_t)(frame) << PP_UNARMED_SHIFT) | (tag))
#define PP_UNARMED_FRAME(word) ((word) >> PP_UNARMED_SHIFT)
#define PP_UNARMED_TAG(word) ((word)&PP_TAG_MASK)

// A page of the target alone, MADV_WIPEONFORK: all zero in a forked child, which so knows that it is one. It stays
// where it is after the capture, all zero and of no effect, so that `armed` written too late meets no memory of
// somebody else.
typedef struct pp_private {
  uint64_t magic;
  uint64_t armed;  // written by the collector: 1 at the arming stop, 0 to disarm
} pp_private;

// A code object or class that is about to be freed: what is told at its address later is about another one. Told from
// before the first event until the stub has left, armed or not, by whoever has the GIL. The n-th is at n modulo
// PP_FREED_ENTRIES. Of its names, which may go with it, the last characters, as many as fit; of one with others than
// ASCII, nothing.
#define PP_FREED_ENTRIES 8192u
#define PP_FREED_NAME 48u
#define PP_FREED_FILE 56u
#define PP_FREED_TYPE INT32_MIN
typedef struct pp_freed {
  uint64_t when;  // in the clock's units; every event of it is older
  uint64_t code;
  int32_t first_line;    // PP_FREED_TYPE: it is a class
  uint16_t name_length;  // of all of it, as far as that can be said; 0: not told
  uint16_t file_length;
  uint8_t name[PP_FREED_NAME];  // co_qualname, tp_name
  uint8_t file[PP_FREED_FILE];  // co_filename
} pp_freed;
PP_STATIC_ASSERT(offsetof(pp_freed, name) == 24, "fixed");
PP_STATIC_ASSERT(sizeof(pp_freed) == 128, "two cache lines");

// Code of which nothing is told: an open hash table that the collector writes and callbacks read, while events go on
// (3.12+). `check` is written before `code`, and is of that very code object, so that another one at its address is
// not taken for it: PP_MUTE_CHECK of the fields that tell code apart, with a pp_mute_flag. Entries are never taken out.
// Where an event can be switched off at its place in the code (DISABLE), that is done as it occurs.
typedef struct pp_mute {
  uint64_t code;  // 0: free
  uint64_t check;
} pp_mute;
PP_STATIC_ASSERT(sizeof(pp_mute) == 16, "four to a cache line");

enum pp_mute_flag {
  PP_MUTE_BEGINS = 1,  // ends are still told: of calls that began before
};
#define PP_MUTE_FLAGS 3ull
#define PP_MUTE_CHECK(name, file, line)                                                                        \
  (((uint64_t)(name)*0x9e3779b97f4a7c15ull ^ (uint64_t)(file)*0xc2b2ae3d27d4eb4full ^ (uint64_t)(line) << 2) & \
   ~PP_MUTE_FLAGS)

#define PP_MUTE_BITS 14u
#define PP_MUTE_ENTRIES (1u << PP_MUTE_BITS)
#define PP_MAX_MUTES (PP_MUTE_ENTRIES / 2u) /* in use */
#define PP_MUTE_PROBES 16u
#define PP_MUTE_HASH(code) (((uint64_t)(code)*0x9e3779b97f4a7c15ull) >> (64u - PP_MUTE_BITS))

// Where things are in the memfd.
#define PP_RING_OFFSET(index) (PP_PAGE * (1ull + (index)))
#define PP_RECORDS_OFFSET(rings, records, index) \
  (PP_PAGE * (1ull + (rings)) + (uint64_t)(index) * (records) * sizeof(pp_record))
#define PP_FREED_OFFSET(rings, records) PP_RECORDS_OFFSET(rings, records, rings)
#define PP_MUTES_OFFSET(rings, records) (PP_FREED_OFFSET(rings, records) + PP_FREED_ENTRIES * sizeof(pp_freed))
#define PP_CHANNEL_SIZE(rings, records, mutes) \
  (PP_MUTES_OFFSET(rings, records) + ((mutes) ? PP_MUTE_ENTRIES * sizeof(pp_mute) : 0u))

#endif  // PTRACE_PROF_ATTACH_ABI_CHANNEL_H_
