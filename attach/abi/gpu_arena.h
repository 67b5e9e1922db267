// The memory that the GPU shim and the collector share while a capture records a GPU: one memfd, made and sealed by
// the target.
//
// It holds a pp_gpu_arena in page 0; a pp_gpu_slot of one cache line for each slot; a ring of clock pairs; the slots;
// and the Python stacks of launches: a ring of launches, an index of stacks, and the stacks, each written once. A slot
// is a buffer that the vendor's library fills with its own records, without a copy by us:
//
//   FREE ─ the library asks for a buffer ─► HELD ─ it gives it back ─► FULL ─ the collector, read and all zero ─► FREE
//
// The collector maps the whole memfd and trusts nothing in it. A forked child does not inherit it (MADV_DONTFORK).
#ifndef PTRACE_PROF_ATTACH_ABI_GPU_ARENA_H_
#define PTRACE_PROF_ATTACH_ABI_GPU_ARENA_H_

#include "attach/abi/abi.h"

#define PP_GPU_ABI_VERSION 6u
#define PP_GPU_ARENA_MAGIC 0x616e657261757067ull   /* "gpuarena" */
#define PP_GPU_PRIVATE_MAGIC 0x6576697270757067ull /* "gpuprive" */

#define PP_GPU_MAX_SLOTS 1024u
#define PP_GPU_MIN_SLOT_BYTES (16u << 10)
#define PP_GPU_MAX_SLOT_BYTES (16u << 20)
#define PP_GPU_CLOCKS 128u /* one page */
#define PP_GPU_KINDS 64u
#define PP_GPU_NAME_BYTES 64u
#define PP_GPU_LAUNCH_RING (16u << 10) /* launches */
#define PP_GPU_STACK_INDEX (16u << 10) /* entries */
#define PP_GPU_STACK_FRAMES 256u       /* of one stack, from the innermost frame outwards */
#define PP_GPU_STACK_UNIT 8u           /* bytes: unit of the offset that identifies a stack */
#define PP_GPU_MAX_STACK_BYTES (64u << 20)

enum pp_gpu_state {
  PP_GPU_STATE_NONE = 0,
  PP_GPU_STATE_ATTACHING = 1,  // `step` says how far it got
  PP_GPU_STATE_RECORDING = 2,
  PP_GPU_STATE_DETACHING = 3,
  PP_GPU_STATE_LEFT = 4,    // it was recording, or was cancelled while attaching; `leave_cause`, `leave_how`
  PP_GPU_STATE_FAILED = 5,  // `error`, `error_step`, `error_number`; the shim has nothing switched on
};

enum pp_gpu_error {
  PP_GPU_ERROR_NONE = 0,
  PP_GPU_ERROR_SYSTEM_CALL = 1,  // `error_number`: errno
  PP_GPU_ERROR_NO_MEMORY = 2,
  PP_GPU_ERROR_NO_WIPE_ON_FORK = 3,
  PP_GPU_ERROR_TARGET_PID = 4,    // this process is a forked copy of the intended target
  PP_GPU_ERROR_BOOT = 5,          // pp_gpu_boot is invalid
  PP_GPU_ERROR_THREAD = 6,        // no thread could be started; `error_number`: errno
  PP_GPU_ERROR_NO_LIBRARY = 7,    // libcupti is not mapped
  PP_GPU_ERROR_NO_SYMBOL = 8,     // it lacks a function that we need
  PP_GPU_ERROR_TOO_OLD = 9,       // `backend_version`
  PP_GPU_ERROR_BAD_VERSION = 10,  // known to crash jobs; `backend_version`
  PP_GPU_ERROR_CONFLICT = 11,     // another tool uses it; `other_tool`
  PP_GPU_ERROR_NOT_IN_USE = 12,   // the job has not begun to use CUDA
  PP_GPU_ERROR_NO_DRIVER = 13,    // there is no libcuda
  PP_GPU_ERROR_DRIVER_TOO_OLD = 14,
  PP_GPU_ERROR_NO_PRIVILEGE = 15,
  PP_GPU_ERROR_MPS = 16,
  PP_GPU_ERROR_UNSUPPORTED = 17,  // vGPU, confidential computing, MIG and the like; `error_number`: the result
  PP_GPU_ERROR_CALL = 18,         // `error_number`: what the library returned for `error_step`
};

// The steps of the shim, and the words for each in a message.
#define PP_GPU_FOR_EACH_STEP(X)                                                   \
  X(NONE, "")                                                                     \
  X(THREAD, "starting a thread (pthread_create)")                                 \
  X(MEMORY, "making the shared memory")                                           \
  X(LIBRARY, "finding CUPTI (dlopen)")                                            \
  X(SYMBOLS, "finding the functions of CUPTI (dlsym)")                            \
  X(VERSION, "reading the version (cuptiGetVersion)")                             \
  X(DRIVER, "reading the driver version (cuDriverGetVersion)")                    \
  X(SUBSCRIBE, "subscribing to CUPTI (cuptiSubscribe)")                           \
  X(CALLBACKS, "enabling callbacks for errors (cuptiEnableCallback)")             \
  X(THREAD_ID, "setting the kind of thread ids (cuptiSetThreadIdType)")           \
  X(ATTRIBUTES, "setting buffer sizes (cuptiActivitySetAttribute)")               \
  X(REGISTER, "registering buffers (cuptiActivityRegisterCallbacks)")             \
  X(CLOCK, "comparing clocks (cuptiGetTimestamp)")                                \
  X(STRIDES, "measuring records (cuptiActivityGetNextRecord)")                    \
  X(INVENTORY, "listing devices and streams (cuptiActivityEnableAndDump)")        \
  X(ENABLE_CALLS, "switching on records of calls (cuptiActivityEnable)")          \
  X(ENABLE_DEVICE, "switching on records of the device (cuptiActivityEnable)")    \
  X(LAUNCHES, "enabling callbacks for launches (cuptiEnableCallback)")            \
  X(RECORDING, "recording")                                                       \
  X(FLUSH, "collecting records (cuptiActivityFlushAll)")                          \
  X(NO_LAUNCHES, "disabling callbacks for launches (cuptiEnableCallback)")        \
  X(DISABLE_CALLS, "switching off records of calls (cuptiActivityDisable)")       \
  X(GRACE, "waiting for launched work (cuptiActivityFlushAll)")                   \
  X(DISABLE_DEVICE, "switching off records of the device (cuptiActivityDisable)") \
  X(LAST_FLUSH, "collecting the last records (cuptiActivityFlushAll)")            \
  X(FINALIZE, "shutting CUPTI down (cuptiFinalize)")                              \
  X(UNSUBSCRIBE, "unsubscribing from CUPTI (cuptiUnsubscribe)")                   \
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
  PP_GPU_LEAVE_FATAL = 3,  // CUPTI reported a fatal error and shut itself down; `error_number`: its result
  PP_GPU_LEAVE_EXIT = 4,   // the process is ending: the shim left everything as it was
  // Detected while recording:
  PP_GPU_LEAVE_BROKEN = 5,      // records could not be collected; `error_number`: CUPTI's result
  PP_GPU_LEAVE_TAKEN_OVER = 6,  // CUPTI asks another tool for buffers
  PP_GPU_LEAVE_CLOCK = 7,       // CUPTI uses another clock than before
};

// The state in which CUPTI was left.
enum pp_gpu_leave_how {
  PP_GPU_LEFT_UNTOUCHED = 0,
  PP_GPU_LEFT_FINALIZED = 1,        // shut down: the job is as fast as before
  PP_GPU_LEFT_DORMANT_VERSION = 2,  // not shut down, because that crashes with this version: some slowdown may remain
  PP_GPU_LEFT_DORMANT_NO_CALL = 3,  // no call of ours passed through CUPTI, in which it could have been shut down
  PP_GPU_LEFT_DORMANT_CAPTURE = 4,  // a CUDA graph was being captured the whole time
  PP_GPU_LEFT_DORMANT_REFUSED = 5,  // cuptiFinalize failed; `error_number`
  PP_GPU_LEFT_DORMANT_ASKED = 6,    // shutting down was not requested (PP_GPU_BOOT_FINALIZE)
  PP_GPU_LEFT_TAKEN_DOWN = 7,       // by CUPTI itself, after a fatal error
  PP_GPU_LEFT_DORMANT_BROKEN = 8,   // CUPTI did not work any more
  PP_GPU_LEFT_TAKEN_OVER = 9,       // unchanged: another tool uses it now
  PP_GPU_LEFT_DORMANT_UP = 10,      // the collector asked for this (PP_GPU_WANT_LEAVE_UP)
  PP_GPU_LEFT_DORMANT_UNSURE = 11,  // it was unknown whether a stream was being captured
};

// The clock of the times in records.
enum pp_gpu_time {
  PP_GPU_TIME_UNKNOWN = 0,
  PP_GPU_TIME_REALTIME = 1,
  PP_GPU_TIME_MONOTONIC = 2,
  PP_GPU_TIME_OTHER = 3,  // another clock, at its own rate: the clock pairs hold it instead of CLOCK_REALTIME
};

enum pp_gpu_wanted {
  PP_GPU_WANT_RECORDS = 0,
  PP_GPU_WANT_LEAVE = 1,      // the only value with which CUPTI is shut down
  PP_GPU_WANT_LEAVE_NOW = 2,  // without waiting for launched work to finish
  PP_GPU_WANT_LEAVE_UP = 3,   // as the first, but CUPTI is not shut down: a stream may be being captured
};

// The same moment on two clocks: CLOCK_REALTIME, or the library's (PP_GPU_TIME_OTHER), and CLOCK_MONOTONIC. `sequence`
// counts from 1 and is written last, with a release store; it is 0 while the entry is being written.
typedef struct pp_gpu_clock {
  uint64_t sequence;
  uint64_t realtime;   // ns, or ticks of the library's clock
  uint64_t monotonic;  // ns
  uint64_t width;      // ns: the two readings are at most this far apart
} pp_gpu_clock;
PP_STATIC_ASSERT(sizeof(pp_gpu_clock) * PP_GPU_CLOCKS == PP_PAGE, "a page of them");

typedef struct pp_gpu_arena {
  // Written by the target before `state` becomes ATTACHING, and never after.
  uint64_t magic;
  uint32_t abi_version;
  uint32_t slot_count;
  uint32_t slot_bytes;
  uint32_t backend;  // pp_gpu_backend_id
  uint64_t nonce;
  uint64_t size;         // of the memfd, in bytes
  int32_t control_tid;   // gettid(2) of the shim's thread as seen inside the target
  uint32_t stack_bytes;  // room for the stacks of launches; 0: launches are not recorded
  uint64_t pad1;

  // Written by the shim's thread.
  uint64_t recording_since;  // CLOCK_MONOTONIC, ns: the time when everything was switched on
  uint32_t state;            // pp_gpu_state, with release order
  uint32_t step;             // pp_gpu_step
  uint64_t step_since;       // CLOCK_MONOTONIC of the target, ns
  uint32_t error;            // pp_gpu_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t backend_version;  // result of cuptiGetVersion
  uint32_t driver_version;   // result of cuDriverGetVersion; 0: unknown
  uint32_t record_time;      // pp_gpu_time
  uint32_t leave_cause;
  uint32_t leave_how;
  uint32_t thread_ids;  // 1: records identify threads by gettid(2); 0: by 32 bits of pthread_self
  uint32_t pad3;
  uint64_t clocks;  // number of pairs ever written to the ring
  // Counters, written by threads of the target.
  uint64_t handed_out;   // buffers given to the library
  uint64_t declined;     // buffers requested while no slot was free: records were lost
  uint64_t discarded;    // the same, but the library had to get a buffer nevertheless, which was thrown away
  uint64_t completed;    // buffers given back
  uint64_t valid_bytes;  // bytes of records in those
  uint64_t dropped;      // records that the library itself reports as lost
  uint64_t flushes;
  uint64_t captures;  // CUDA graph captures in progress now
  char other_tool[PP_GPU_NAME_BYTES];
  uint16_t strides[PP_GPU_KINDS];  // bytes from one record of a kind to the next; 0: this library has no such kind
  // The result of switching on each kind; UINT16_MAX: not tried.
  uint16_t kind_results[PP_GPU_KINDS];

  // Written by the collector.
  uint64_t beat;    // changes each time, as a sign of life
  uint32_t wanted;  // pp_gpu_wanted
  uint32_t bell;    // a futex (not private): incremented when a field above changed
  uint32_t pad4[2];
  uint64_t pad5[5];

  // Launches, written by threads of the target.
  uint64_t launch_head;       // number of places ever taken in the ring
  uint64_t stacks_used;       // bytes
  uint64_t launches_refused;  // followed each other too fast for their stacks to be recorded
  uint64_t launches_dropped;  // the ring was full, or there are too many threads
  uint64_t stacks_dropped;    // no room for another stack, or the stack could not be read
  uint64_t pad6[3];
  // Written by the collector.
  uint64_t launch_tail;  // launches consumed
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
  PP_GPU_SLOT_FREE = 0,  // set by the collector (or from the beginning): the buffer is all zero
  PP_GPU_SLOT_HELD = 1,  // set by a thread of the target, by compare-and-swap: the library writes to the buffer
  PP_GPU_SLOT_FULL = 2,  // set by a thread of the target, with release order
};

typedef struct pp_gpu_slot {
  uint32_t state;
  uint32_t pad0;
  uint64_t sequence;  // number among the slots that were given back, from 1
  uint64_t valid;     // bytes of records; the rest is zero
  uint64_t realtime;  // when it was given back, on both clocks
  uint64_t monotonic;
  uint64_t pad1[3];
} pp_gpu_slot;
PP_STATIC_ASSERT(sizeof(pp_gpu_slot) == PP_CACHE_LINE, "a line each");

// A launch whose stack was recorded. `sequence` counts from 1 and is written last, with a release store.
typedef struct pp_gpu_launch {
  uint64_t sequence;
  uint64_t monotonic;    // start of the call, ns
  uint32_t correlation;  // of the call, as in its record
  uint32_t stack;        // offset of its pp_gpu_stack from the begin of the stacks, in PP_GPU_STACK_UNITs; never 0
  uint64_t pad0;
} pp_gpu_launch;
PP_STATIC_ASSERT(sizeof(pp_gpu_launch) == 32, "fixed");

enum pp_gpu_stack_flag {
  PP_GPU_STACK_DEEPER = 1,  // the stack has more frames than PP_GPU_STACK_FRAMES
};

// `count` pp_gpu_frames follow, innermost first. A stack is written once, before its entry in the index.
typedef struct pp_gpu_stack {
  uint64_t hash;  // of everything that follows
  uint32_t count;
  uint32_t flags;
} pp_gpu_stack;

typedef struct pp_gpu_frame {
  uint64_t code;         // address of the code object
  uint64_t instruction;  // as in the frame: an index (sign-extended), or an address
  uint64_t identity;     // PP_GPU_CODE_IDENTITY of the code object while its frame was on the stack
} pp_gpu_frame;
PP_STATIC_ASSERT(sizeof(pp_gpu_stack) == 16 && sizeof(pp_gpu_frame) == 24, "fixed");

// Distinguishes a code object from a later one at the same address. It combines the addresses of the file name and the
// name, the address of the qualified name (0: none) mixed with that of the line table, and the first line.
#define PP_GPU_CODE_OTHER(qualname, line_table) ((uint64_t)(qualname) ^ (uint64_t)(line_table) << 1)
#define PP_GPU_CODE_IDENTITY(file, name, other, first_line)                          \
  ((uint64_t)(file)*0x9e3779b97f4a7c15ull ^ (uint64_t)(name)*0xc2b2ae3d27d4eb4full ^ \
   (uint64_t)(other)*0x165667b19e3779f9ull ^ (uint64_t)(int64_t)(first_line)*0xd6e8feb86659fd93ull)

// An entry of the index: the upper bits of the stack's hash, and below them the stack's offset. 0: no entry.
#define PP_GPU_STACK_BITS 24
#define PP_GPU_STACK_PROBES 32u

// Private memory of the target, MADV_WIPEONFORK: it is all zero in a forked child, which so detects the fork.
typedef struct pp_gpu_private {
  uint64_t magic;
  uint64_t alive;  // != 0 while slots are handed out
} pp_gpu_private;

// Layout of the memfd.
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
