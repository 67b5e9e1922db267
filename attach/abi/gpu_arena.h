// The memory that the GPU shim and the collector share while a capture records a GPU: one memfd, made and sealed by
// the target.
//
// A pp_gpu_arena in page 0; a pp_gpu_slot of one cache line for each slot; a ring of clock pairs; the slots; and where
// launches tell of their Python stacks: a ring of them, an index of stacks, and the stacks, each of which is written
// once. A slot is a buffer that the vendor's library fills with its own records, without a copy of ours:
//
//   FREE ─ the library asks for a buffer ─► HELD ─ it gives it back ─► FULL ─ the collector, read and all zero ─► FREE
//
// The collector maps it whole and trusts none of it. A forked child has no part in it (MADV_DONTFORK).
#ifndef PTRACE_PROF_ATTACH_ABI_GPU_ARENA_H_
#define PTRACE_PROF_ATTACH_ABI_GPU_ARENA_H_

#include "attach/abi/abi.h"

#define PP_GPU_ABI_VERSION 6u
#define PP_GPU_ARENA_MAGIC 0x616e657261757067ull   /* "gpuarena" */
#define PP_GPU_PRIVATE_MAGIC 0x6576697270757067ull /* "gpuprive" */

#define PP_GPU_MAX_SLOTS 1024u
#define PP_GPU_MIN_SLOT_BYTES (16u << 10)
#define PP_GPU_MAX_SLOT_BYTES (16u << 20)
#define PP_GPU_CLOCKS 128u /* a page of them */
#define PP_GPU_KINDS 64u
#define PP_GPU_NAME_BYTES 64u
#define PP_GPU_LAUNCH_RING (16u << 10) /* launches */
#define PP_GPU_STACK_INDEX (16u << 10) /* entries */
#define PP_GPU_STACK_FRAMES 256u       /* of one stack, from the launch on outwards */
#define PP_GPU_STACK_UNIT 8u           /* bytes: a stack is named by where it lies, in these */
#define PP_GPU_MAX_STACK_BYTES (64u << 20)

enum pp_gpu_state {
  PP_GPU_STATE_NONE = 0,
  PP_GPU_STATE_ATTACHING = 1,  // `step` says how far it is
  PP_GPU_STATE_RECORDING = 2,
  PP_GPU_STATE_DETACHING = 3,
  PP_GPU_STATE_LEFT = 4,    // it was recording, or was called back while attaching; `leave_cause`, `leave_how`
  PP_GPU_STATE_FAILED = 5,  // `error`, `error_step`, `error_number`; nothing of ours is switched on
};

enum pp_gpu_error {
  PP_GPU_ERROR_NONE = 0,
  PP_GPU_ERROR_SYSTEM_CALL = 1,  // `error_number`: errno
  PP_GPU_ERROR_NO_MEMORY = 2,
  PP_GPU_ERROR_NO_WIPE_ON_FORK = 3,
  PP_GPU_ERROR_TARGET_PID = 4,    // this is a forked copy of the target that was meant
  PP_GPU_ERROR_BOOT = 5,          // pp_gpu_boot makes no sense
  PP_GPU_ERROR_THREAD = 6,        // no thread could be started; `error_number`: errno
  PP_GPU_ERROR_NO_LIBRARY = 7,    // libcupti is not mapped
  PP_GPU_ERROR_NO_SYMBOL = 8,     // it lacks a function that we need
  PP_GPU_ERROR_TOO_OLD = 9,       // `backend_version`
  PP_GPU_ERROR_BAD_VERSION = 10,  // known to crash jobs; `backend_version`
  PP_GPU_ERROR_CONFLICT = 11,     // another tool has it; `other_tool`
  PP_GPU_ERROR_NOT_IN_USE = 12,   // the job has not begun to use CUDA
  PP_GPU_ERROR_NO_DRIVER = 13,    // there is no libcuda
  PP_GPU_ERROR_DRIVER_TOO_OLD = 14,
  PP_GPU_ERROR_NO_PRIVILEGE = 15,
  PP_GPU_ERROR_MPS = 16,
  PP_GPU_ERROR_UNSUPPORTED = 17,  // vGPU, confidential computing, MIG and the like; `error_number`: the result
  PP_GPU_ERROR_CALL = 18,         // `error_number`: what the library returned for `error_step`
};

// What is being done, and in which words a message says so.
#define PP_GPU_FOR_EACH_STEP(X)                                                   \
  X(NONE, "")                                                                     \
  X(THREAD, "starting a thread (pthread_create)")                                 \
  X(MEMORY, "making the shared memory")                                           \
  X(LIBRARY, "finding CUPTI (dlopen)")                                            \
  X(SYMBOLS, "finding the functions of CUPTI (dlsym)")                            \
  X(VERSION, "asking for the version (cuptiGetVersion)")                          \
  X(DRIVER, "asking for the driver (cuDriverGetVersion)")                         \
  X(SUBSCRIBE, "becoming CUPTI's subscriber (cuptiSubscribe)")                    \
  X(CALLBACKS, "having errors told (cuptiEnableCallback)")                        \
  X(THREAD_ID, "having threads told by their ids (cuptiSetThreadIdType)")         \
  X(ATTRIBUTES, "setting buffer sizes (cuptiActivitySetAttribute)")               \
  X(REGISTER, "handing in buffers (cuptiActivityRegisterCallbacks)")              \
  X(CLOCK, "comparing clocks (cuptiGetTimestamp)")                                \
  X(STRIDES, "measuring records (cuptiActivityGetNextRecord)")                    \
  X(INVENTORY, "listing devices and streams (cuptiActivityEnableAndDump)")        \
  X(ENABLE_CALLS, "switching on records of calls (cuptiActivityEnable)")          \
  X(ENABLE_DEVICE, "switching on records of the device (cuptiActivityEnable)")    \
  X(LAUNCHES, "having launches told (cuptiEnableCallback)")                       \
  X(RECORDING, "recording")                                                       \
  X(FLUSH, "collecting records (cuptiActivityFlushAll)")                          \
  X(NO_LAUNCHES, "having launches told no more (cuptiEnableCallback)")            \
  X(DISABLE_CALLS, "switching off records of calls (cuptiActivityDisable)")       \
  X(GRACE, "waiting for what was launched (cuptiActivityFlushAll)")               \
  X(DISABLE_DEVICE, "switching off records of the device (cuptiActivityDisable)") \
  X(LAST_FLUSH, "collecting the last records (cuptiActivityFlushAll)")            \
  X(FINALIZE, "taking CUPTI down (cuptiFinalize)")                                \
  X(UNSUBSCRIBE, "letting CUPTI go (cuptiUnsubscribe)")                           \
  X(DONE, "")

enum pp_gpu_step {
#define PP_GPU_STEP_ENUM(name, words) PP_GPU_STEP_##name,
  PP_GPU_FOR_EACH_STEP(PP_GPU_STEP_ENUM)
#undef PP_GPU_STEP_ENUM
      PP_GPU_STEP_COUNT
};

enum pp_gpu_leave_cause {
  PP_GPU_LEAVE_NOT = 0,
  PP_GPU_LEAVE_ASKED = 1,
  PP_GPU_LEAVE_LEASE = 2,  // the collector did not renew its lease
  PP_GPU_LEAVE_FATAL = 3,  // CUPTI said that it cannot go on, and took itself down; `error_number`: its result
  PP_GPU_LEAVE_EXIT = 4,   // the process is ending: nothing was touched any more
  // Found out while recording:
  PP_GPU_LEAVE_BROKEN = 5,      // records could not be collected; `error_number`: what CUPTI says to that
  PP_GPU_LEAVE_TAKEN_OVER = 6,  // buffers are asked of another tool
  PP_GPU_LEAVE_CLOCK = 7,       // CUPTI goes by another clock than before
};

// In what state CUPTI was left.
enum pp_gpu_leave_how {
  PP_GPU_LEFT_UNTOUCHED = 0,
  PP_GPU_LEFT_FINALIZED = 1,        // taken down: the job is as fast as before
  PP_GPU_LEFT_DORMANT_VERSION = 2,  // not taken down, as that crashes with this version: some slowdown may stay
  PP_GPU_LEFT_DORMANT_NO_CALL = 3,  // no call of ours passed through CUPTI, in which it could have been taken down
  PP_GPU_LEFT_DORMANT_CAPTURE = 4,  // a CUDA graph was being captured all the time
  PP_GPU_LEFT_DORMANT_REFUSED = 5,  // cuptiFinalize failed; `error_number`
  PP_GPU_LEFT_DORMANT_ASKED = 6,    // nobody asked for it (PP_GPU_BOOT_FINALIZE)
  PP_GPU_LEFT_TAKEN_DOWN = 7,       // by CUPTI itself, after a fatal error
  PP_GPU_LEFT_DORMANT_BROKEN = 8,   // it did not work any more
  PP_GPU_LEFT_TAKEN_OVER = 9,       // as it was: another tool has it now
  PP_GPU_LEFT_DORMANT_UP = 10,      // the collector wanted it (PP_GPU_WANT_LEAVE_UP)
  PP_GPU_LEFT_DORMANT_UNSURE = 11,  // nobody could say that no stream is being captured
};

// What the times in records are.
enum pp_gpu_time {
  PP_GPU_TIME_UNKNOWN = 0,
  PP_GPU_TIME_REALTIME = 1,
  PP_GPU_TIME_MONOTONIC = 2,
  PP_GPU_TIME_OTHER = 3,  // of another clock, at its own rate: the pairs are of it, not of CLOCK_REALTIME
};

enum pp_gpu_wanted {
  PP_GPU_WANT_RECORDS = 0,
  PP_GPU_WANT_LEAVE = 1,      // the only one with which CUPTI is taken down
  PP_GPU_WANT_LEAVE_NOW = 2,  // without waiting for what was launched
  PP_GPU_WANT_LEAVE_UP = 3,   // as the first, but CUPTI is not taken down: a stream may be being captured
};

// The same moment on two clocks: CLOCK_REALTIME, or the library's (PP_GPU_TIME_OTHER), and CLOCK_MONOTONIC. `sequence`
// counts from 1 and is written last, released; while it is 0 the entry is being written.
typedef struct pp_gpu_clock {
  uint64_t sequence;
  uint64_t realtime;   // ns, or what the library's clock counts
  uint64_t monotonic;  // ns
  uint64_t width;      // ns: so far apart the two may be
} pp_gpu_clock;
PP_STATIC_ASSERT(sizeof(pp_gpu_clock) * PP_GPU_CLOCKS == PP_PAGE, "a page of them");

typedef struct pp_gpu_arena {
  // Written by the target before `state` becomes ATTACHING, never after.
  uint64_t magic;
  uint32_t abi_version;
  uint32_t slot_count;
  uint32_t slot_bytes;
  uint32_t backend;  // pp_gpu_backend_id
  uint64_t nonce;
  uint64_t size;         // of the memfd, in bytes
  int32_t control_tid;   // of the shim's thread, as gettid(2) says in the target
  uint32_t stack_bytes;  // for stacks of launches; 0: no launch is told of
  uint64_t pad1;

  // Written by the shim's thread.
  uint64_t recording_since;  // CLOCK_MONOTONIC, ns: from then on everything was switched on
  uint32_t state;            // pp_gpu_state, released
  uint32_t step;             // pp_gpu_step
  uint64_t step_since;       // CLOCK_MONOTONIC of the target, ns
  uint32_t error;            // pp_gpu_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t backend_version;  // as cuptiGetVersion says
  uint32_t driver_version;   // as cuDriverGetVersion says; 0: not known
  uint32_t record_time;      // pp_gpu_time
  uint32_t leave_cause;
  uint32_t leave_how;
  uint32_t thread_ids;  // 1: records name threads by gettid(2); 0: by what pthread_self is in 32 bits
  uint32_t pad3;
  uint64_t clocks;  // pairs ever written to the ring
  // Counters, written by threads of the target.
  uint64_t handed_out;   // buffers
  uint64_t declined;     // that were asked for while no slot was free: records were lost
  uint64_t discarded;    // the same, where a buffer had to be given nevertheless and was thrown away
  uint64_t completed;    // given back
  uint64_t valid_bytes;  // in those
  uint64_t dropped;      // records that the library itself says it lost
  uint64_t flushes;
  uint64_t captures;  // of CUDA graphs that go on now
  char other_tool[PP_GPU_NAME_BYTES];
  uint16_t strides[PP_GPU_KINDS];  // bytes from one record of a kind to the next; 0: this library has no such kind
  // What switching on each kind returned; UINT16_MAX: it was not tried.
  uint16_t kind_results[PP_GPU_KINDS];

  // Written by the collector.
  uint64_t beat;    // another value each time: it is alive
  uint32_t wanted;  // pp_gpu_wanted
  uint32_t bell;    // a futex (not private): counted up when there is something to see above
  uint32_t flush;   // counted up: flush at once
  uint32_t pad4;
  uint64_t pad5[5];

  // Launches, written by threads of the target.
  uint64_t launch_head;       // that a place in the ring was taken for
  uint64_t stacks_used;       // bytes
  uint64_t launches_refused;  // came too fast after one another for their stacks to be taken
  uint64_t launches_dropped;  // the ring was full, or there are too many threads
  uint64_t stacks_dropped;    // there was no room for another stack, or it could not be read
  uint64_t pad6[3];
  // Written by the collector.
  uint64_t launch_tail;  // launches taken
  uint64_t pad7[7];
} pp_gpu_arena;

PP_STATIC_ASSERT(offsetof(pp_gpu_arena, nonce) == 24, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, recording_since) == 56, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, state) == 64, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, clocks) == 120, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, handed_out) == 128, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, other_tool) == 192, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, strides) == 256, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, kind_results) == 384, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, beat) == 512, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, launch_head) == 576, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_arena, launch_tail) == 640, "fixed");
PP_STATIC_ASSERT(sizeof(pp_gpu_arena) == 704 && sizeof(pp_gpu_arena) <= PP_PAGE, "fixed");

enum pp_gpu_slot_state {
  PP_GPU_SLOT_FREE = 0,  // by the collector (or from the beginning): all of it is zero
  PP_GPU_SLOT_HELD = 1,  // by a thread of the target, by compare-and-swap: the library writes to it
  PP_GPU_SLOT_FULL = 2,  // by a thread of the target, released
};

typedef struct pp_gpu_slot {
  uint32_t state;
  uint32_t pad0;
  uint64_t sequence;  // among the slots that were given back, from 1
  uint64_t valid;     // bytes of records; the rest is zero
  uint64_t realtime;  // when it was given back, on both clocks
  uint64_t monotonic;
  uint64_t pad1[3];
} pp_gpu_slot;
PP_STATIC_ASSERT(sizeof(pp_gpu_slot) == PP_CACHE_LINE, "a line each");

// A launch whose stack was taken. `sequence` counts from 1 and is written last, released.
typedef struct pp_gpu_launch {
  uint64_t sequence;
  uint64_t monotonic;    // when the call began, ns
  uint32_t correlation;  // of the call, as in its record
  uint32_t stack;        // where its pp_gpu_stack lies: PP_GPU_STACK_UNITs from the begin of the stacks; never 0
  uint64_t pad0;
} pp_gpu_launch;
PP_STATIC_ASSERT(sizeof(pp_gpu_launch) == 32, "fixed");

enum pp_gpu_stack_flag {
  PP_GPU_STACK_DEEPER = 1,  // there are more callers than PP_GPU_STACK_FRAMES
};

// `count` pp_gpu_frames follow, the one that made the call first. Written once, before its entry in the index.
typedef struct pp_gpu_stack {
  uint64_t hash;  // of all that follows
  uint32_t count;
  uint32_t flags;
} pp_gpu_stack;

typedef struct pp_gpu_frame {
  uint64_t code;         // address of the code object
  uint64_t instruction;  // as the frame has it: an index (sign-extended), or an address
  uint64_t identity;     // PP_GPU_CODE_IDENTITY of the code object when its frame was on the stack
} pp_gpu_frame;
PP_STATIC_ASSERT(sizeof(pp_gpu_stack) == 16 && sizeof(pp_gpu_frame) == 24, "fixed");

// Tells a code object from one that gets its address later: of the addresses of its file name and name, of that of its
// qualified name (0: it has none) mixed with that of its line table, and of its first line.
#define PP_GPU_CODE_OTHER(qualname, line_table) ((uint64_t)(qualname) ^ (uint64_t)(line_table) << 1)
#define PP_GPU_CODE_IDENTITY(file, name, other, first_line)                          \
  ((uint64_t)(file)*0x9e3779b97f4a7c15ull ^ (uint64_t)(name)*0xc2b2ae3d27d4eb4full ^ \
   (uint64_t)(other)*0x165667b19e3779f9ull ^ (uint64_t)(int64_t)(first_line)*0xd6e8feb86659fd93ull)

// An entry of the index: the upper bits of the stack's hash, and below them where it lies. 0: none.
#define PP_GPU_STACK_BITS 24
#define PP_GPU_STACK_PROBES 32u

// Private memory of the target, MADV_WIPEONFORK: all zero in a forked child, which so knows that it is one.
typedef struct pp_gpu_private {
  uint64_t magic;
  uint64_t alive;  // != 0 while slots are handed out
} pp_gpu_private;

// Where things are in the memfd.
#define PP_GPU_SLOT_OFFSET(index) (PP_PAGE + (uint64_t)(index) * sizeof(pp_gpu_slot))
#define PP_GPU_CLOCKS_OFFSET(slots) ((PP_GPU_SLOT_OFFSET(slots) + PP_PAGE - 1u) & ~(uint64_t)(PP_PAGE - 1u))
#define PP_GPU_BUFFER_OFFSET(slots, bytes, index) (PP_GPU_CLOCKS_OFFSET(slots) + PP_PAGE + (uint64_t)(index) * (bytes))
#define PP_GPU_LAUNCHES_OFFSET(slots, bytes) PP_GPU_BUFFER_OFFSET(slots, bytes, slots)
#define PP_GPU_INDEX_OFFSET(slots, bytes) \
  (PP_GPU_LAUNCHES_OFFSET(slots, bytes) + PP_GPU_LAUNCH_RING * sizeof(pp_gpu_launch))
#define PP_GPU_STACKS_OFFSET(slots, bytes) (PP_GPU_INDEX_OFFSET(slots, bytes) + PP_GPU_STACK_INDEX * sizeof(uint64_t))
#define PP_GPU_ARENA_SIZE(slots, bytes, stack_bytes) \
  ((stack_bytes) ? PP_GPU_STACKS_OFFSET(slots, bytes) + (stack_bytes) : PP_GPU_LAUNCHES_OFFSET(slots, bytes))

#endif  // PTRACE_PROF_ATTACH_ABI_GPU_ARENA_H_
