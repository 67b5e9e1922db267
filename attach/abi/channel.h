// The memory that a target and the collector share while a capture traces: one memfd, made and sealed by the target.
//
// Page 0 is the pp_channel. Then come `ring_count` ring headers of one page each, the records of ring 0, ring 1, …
// (`ring_records` each), the table of pp_freed, and the table of pp_mute if there is one. The collector maps the whole
// memfd and trusts nothing in it: it uses the sizes that it checked at the beginning, and bounds everything else when
// it reads it.
//
// Each field says who writes it. "armed" is not in this memory, because a forked child would share it. It is in the
// target's pp_private, which the kernel wipes in a child.
#ifndef PTRACE_PROF_ATTACH_ABI_CHANNEL_H_
#define PTRACE_PROF_ATTACH_ABI_CHANNEL_H_

#include "attach/abi/abi.h"
#include "attach/abi/record.h"

#define PP_CHANNEL_MAGIC 0x6c6e6e6168637070ull /* "ppchannl" */
#define PP_PRIVATE_MAGIC 0x6574617669727070ull /* "pprivate" */

enum pp_state {
  PP_STATE_NONE = 0,
  PP_STATE_READY = 1,   // hooks are installed, armed or not
  PP_STATE_LEFT = 2,    // no hook of ours is called any more; the target is about to unmap the channel
  PP_STATE_FAILED = 3,  // `error` says why; nothing is installed
};

enum pp_error {
  PP_ERROR_NONE = 0,
  PP_ERROR_PROFILER_PRESENT = 1,  // a foreign profile function (<= 3.11), or no free tool id (3.12+)
  PP_ERROR_PYTHON_CALL = 2,       // a call into the interpreter failed; `error_step` says which
  PP_ERROR_NO_MEMORY = 3,
  PP_ERROR_NO_WIPE_ON_FORK = 4,  // the kernel has no MADV_WIPEONFORK (before 4.14)
  PP_ERROR_TARGET_PID = 5,       // this process is a forked copy of the intended target
  PP_ERROR_BUSY = 6,             // reserved: pp_boot.busy reports this
  PP_ERROR_SYSTEM_CALL = 7,      // `error_step`: which; `error_number`: errno
  PP_ERROR_BOOT = 8,             // pp_boot is invalid: another abi_version, or sizes out of bounds
};

// The step during which an error occurred, and the words for it in a message.
#define PP_FOR_EACH_STEP(X)                                  \
  X(NONE, "")                                                \
  X(MEMFD_CREATE, "making the shared memory (memfd_create)") \
  X(FTRUNCATE, "sizing the shared memory (ftruncate)")       \
  X(SEAL, "sealing the shared memory (fcntl F_ADD_SEALS)")   \
  X(FSTAT, "identifying the shared memory (fstat)")          \
  X(MAP_CHANNEL, "mapping the shared memory (mmap)")         \
  X(DONT_FORK, "keeping it from children (MADV_DONTFORK)")   \
  X(MAP_PRIVATE, "mapping private memory (mmap)")            \
  X(WIPE_ON_FORK, "wiping it in children (MADV_WIPEONFORK)") \
  X(MONITORING, "finding sys.monitoring")                    \
  X(TOOL_ID, "taking a tool id of sys.monitoring")           \
  X(CALLBACK, "making a callback")                           \
  X(REGISTER, "registering a callback")                      \
  X(RESTART, "restarting events")                            \
  X(SET_EVENTS, "switching events on")                       \
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
  PP_LEAVE_FORKED = 3,  // a child removed the hooks in itself (never seen here: the child writes nothing to shared
                        // memory)
};

// The measured cost of events in units of the clock: `events` events take `time` more than the same work without
// events.
typedef struct pp_cost {
  uint64_t events;  // 0: not measured
  uint64_t time;
} pp_cost;

typedef struct pp_channel {
  // Written by the target before `state` becomes READY, and never after.
  uint64_t magic;
  uint32_t abi_version;
  uint32_t ring_count;
  uint32_t ring_records;  // of each ring; a power of two
  uint32_t clock;         // pp_clock
  uint64_t nonce;         // pp_boot.nonce: identifies the channel that was requested
  uint64_t private_page;  // address of the pp_private in the target
  uint64_t leave_entry;   // address of int(void*) for the pending queue: removes all hooks
  uint64_t size;          // of the memfd, in bytes
  uint32_t tool_id;       // 3.12+; else UINT32_MAX
  uint32_t pad0;
  // Written by the target.
  uint32_t state;  // pp_state, with release order
  uint32_t error;  // pp_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t leave_cause;          // pp_leave_cause
  uint32_t hooks_displaced;      // <= 3.11: threads on which the job had set its own profile function when the stub
                                 // left
  uint64_t events_without_ring;  // no ring was free for that thread; once one is, the loss becomes a gap in that ring

  // Written by the collector.
  uint64_t lease;         // clock value after which the stub leaves on its own
  uint64_t leave;         // != 0: leave at the next event; checked while unarmed, and when the lease is over
  uint64_t self_code[8];  // code objects whose first local is recorded (PP_TAG_SELF); the list ends at the first 0

  // Written by the target before `state` becomes READY, and never after.
  pp_cost frame_cost;  // of START and RETURN
  pp_cost call_cost;   // of C_CALL and C_RETURN; only with PP_BOOT_C_CALLS

  // Written by the target.
  uint64_t watches_code;  // != 0: pp_freed entries are written, from before READY until the target begins to leave
  uint64_t freed;         // number of pp_freed entries ever written; release store after the entry
  uint64_t freed_unsure;  // time; entries for what was freed until then may be missing
  uint64_t own_text;  // the code of the text that loaded the stub, until that code is freed; its caller is ours as well
} pp_channel;

PP_STATIC_ASSERT(offsetof(pp_channel, nonce) == 24, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, state) == 64, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, lease) == 96, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, self_code) == 112, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, frame_cost) == 176, "fixed");
PP_STATIC_ASSERT(offsetof(pp_channel, watches_code) == 208, "fixed");
PP_STATIC_ASSERT(sizeof(pp_channel) == 240, "fixed");

enum pp_ring_state {
  PP_RING_FREE = 0,     // set by the collector once the ring is drained (or from the beginning)
  PP_RING_CLAIMED = 1,  // set by a thread of the target, by compare-and-swap
  PP_RING_LIVE = 2,     // set by that thread: the thread fields are filled in
  PP_RING_ENDED = 3,    // set by another thread of the target that found the owner gone; the collector drains and frees
                        // the ring
};

typedef struct pp_ring {
  // The producer's cache line.
  uint64_t head;        // number of records ever published; release store after the record
  uint64_t full_at;     // the head from which on the thread checks whether there is room for an event
  uint64_t lost;        // events lost in the current gap
  uint64_t lost_since;  // time of the first lost event
  uint64_t lost_total;
  int32_t lost_net;  // as in PP_GAP_NET and PP_GAP_LOWEST, so far
  int32_t lost_lowest;
  uint64_t last_unarmed;  // see below
  uint64_t last_time;     // of the last record: times never decrease
  // The consumer's cache line.
  uint64_t tail;  // number of records ever consumed
  uint64_t pad1[7];
  // Filled in when the ring is claimed.
  uint32_t state;         // pp_ring_state
  int32_t tid;            // gettid(2) as seen inside the target
  uint64_t thread_state;  // address of the PyThreadState
  // Written by the ring's threads; totals over all of them.
  uint64_t holds;      // how often a thread waited for room (pp_boot.longest_hold); counted at the start of the wait
  uint64_t held_time;  // total time of these waits, in the clock's units; added when a wait ends
  // About the current thread.
  uint64_t first_frame;  // the innermost frame at the thread's first record; 0: no record yet
  uint64_t pad2[3];
} pp_ring;

PP_STATIC_ASSERT(offsetof(pp_ring, tail) == 64, "a line each");
PP_STATIC_ASSERT(offsetof(pp_ring, state) == 128, "a line each");
PP_STATIC_ASSERT(offsetof(pp_ring, holds) == 144, "fixed");
PP_STATIC_ASSERT(sizeof(pp_ring) == 192, "fixed");

// A ring of more than PP_CHUNK_LEAST records is used in chunks. A thread whose events are drained in time so reuses the
// same few chunks, which are mapped and in its caches. The record count runs on through all chunks. As many records as
// fit into a chunk are a lap. A table behind the pp_ring, at PP_LAPS_AT, holds the chunk of each lap, at the lap's
// number modulo the number of chunks. The records of one event are all in one lap, so some at its end may be unused.
// The entry is written before the head passes the first record of the lap; the number of unused records, before it
// passes the last.
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

// pp_ring.last_unarmed: the last event that the thread had while unarmed, as the frame of that event and its tag. It
// says on which side of the arming stop the event falls if the thread was stopped between the event and the next
// instruction.
// If its frame is on top of the thread's stack:
//   - tag START, RESUME, THROW, C_CALL or an end of C_CALL: the event gets no record. The frame belongs to the initial
//     stack; after C_CALL it is inside that call, whose end comes.
//   - tag RETURN, YIELD, UNWIND: the event gets no record; the frame does not belong to the initial stack. (Or it is a
//     new one at the same address, whose START comes.)
//   - with PP_UNARMED_PENDING: the thread has not decided yet. The collector sets the word to 0 and `armed` to 1 during
//     the same stop, and so decides: a record of this event comes. The frame belongs to the initial stack unless the
//     tag is START, RESUME or THROW.
// If its frame is another one: the top frame belongs to the initial stack, unless the first record of the ring says
// that it begins (pp_ring.first_frame is the frame of that record). The thread writes the word with PENDING, checks
// `armed` again, and exchanges the word for the same without PENDING. If it finds another word than it wrote, it
// records the event.
// Valid for the first arming of a channel. Before a second arming the collector sets all words to 0 while `armed` is 1,
// during a stop.
#define PP_UNARMED_SHIFT (PP_TAG_BITS + 1u) /* an address has 57 bits */
#define PP_UNARMED_PENDING (1ull << PP_TAG_BITS)
#define PP_UNARMED(frame, tag) (((uint64_t)(frame) << PP_UNARMED_SHIFT) | (tag))
#define PP_UNARMED_FRAME(word) ((word) >> PP_UNARMED_SHIFT)
#define PP_UNARMED_TAG(word) ((word)&PP_TAG_MASK)

// A page that only the target has, MADV_WIPEONFORK: it is all zero in a forked child, which so detects the fork. It
// stays mapped after the capture, all zero and without effect, so that a late write of `armed` never hits memory of the
// job.
typedef struct pp_private {
  uint64_t magic;
  uint64_t armed;  // written by the collector: 1 at the arming stop, 0 to disarm
} pp_private;

// A code object or class that is about to be freed: later events at its address are about another object. Entries are
// written from before the first event until the stub has left, armed or not, by the thread that has the GIL. The n-th
// entry is at n modulo PP_FREED_ENTRIES. It holds the last characters of the names, as many as fit, because the names
// may be freed too. A name with non-ASCII characters is left out.
#define PP_FREED_ENTRIES 8192u
#define PP_FREED_NAME 48u
#define PP_FREED_FILE 56u
#define PP_FREED_TYPE INT32_MIN
typedef struct pp_freed {
  uint64_t when;  // in the clock's units; every event of this object is older
  uint64_t code;
  int32_t first_line;    // PP_FREED_TYPE: the object is a class
  uint16_t name_length;  // length of the whole name, as far as known; 0: not recorded
  uint16_t file_length;
  uint8_t name[PP_FREED_NAME];  // co_qualname, tp_name
  uint8_t file[PP_FREED_FILE];  // co_filename
} pp_freed;
PP_STATIC_ASSERT(offsetof(pp_freed, name) == 24, "fixed");
PP_STATIC_ASSERT(sizeof(pp_freed) == 128, "two cache lines");

// Code that is not recorded: an open hash table that the collector writes and callbacks read, while events go on
// (3.12+). `check` is written before `code`. It identifies that code object, so that another one at the same address
// does not match: PP_MUTE_CHECK of its distinguishing fields, with a pp_mute_flag. Entries are never removed.
// If an event can be switched off at its place in the code (DISABLE), that happens when it occurs.
typedef struct pp_mute {
  uint64_t code;  // 0: free
  uint64_t check;
} pp_mute;
PP_STATIC_ASSERT(sizeof(pp_mute) == 16, "four to a cache line");

enum pp_mute_flag {
  PP_MUTE_BEGINS = 1,  // ends are still recorded: of calls that began before
};
#define PP_MUTE_FLAGS 3ull
#define PP_MUTE_CHECK(name, file, line)                                                                        \
  (((uint64_t)(name)*0x9e3779b97f4a7c15ull ^ (uint64_t)(file)*0xc2b2ae3d27d4eb4full ^ (uint64_t)(line) << 2) & \
   ~PP_MUTE_FLAGS)

#define PP_MUTE_BITS 14u
#define PP_MUTE_ENTRIES (1u << PP_MUTE_BITS)
#define PP_MAX_MUTES (PP_MUTE_ENTRIES / 2u) /* entries in use */
#define PP_MUTE_PROBES 16u
#define PP_MUTE_HASH(code) (((uint64_t)(code)*0x9e3779b97f4a7c15ull) >> (64u - PP_MUTE_BITS))

// Layout of the memfd.
#define PP_RING_OFFSET(index) (PP_PAGE * (1ull + (index)))
#define PP_RECORDS_OFFSET(rings, records, index) \
  (PP_PAGE * (1ull + (rings)) + (uint64_t)(index) * (records) * sizeof(pp_record))
#define PP_FREED_OFFSET(rings, records) PP_RECORDS_OFFSET(rings, records, rings)
#define PP_MUTES_OFFSET(rings, records) (PP_FREED_OFFSET(rings, records) + PP_FREED_ENTRIES * sizeof(pp_freed))
#define PP_CHANNEL_SIZE(rings, records, mutes) \
  (PP_MUTES_OFFSET(rings, records) + ((mutes) ? PP_MUTE_ENTRIES * sizeof(pp_mute) : 0u))

#endif  // PTRACE_PROF_ATTACH_ABI_CHANNEL_H_
