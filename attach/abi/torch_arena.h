// The memory that a target and the collector share while PyTorch's operators are recorded: one memfd, made and sealed
// by the target.
//
// Page 0 is the pp_torch_arena. Then come `ring_count` ring headers (pp_ring) of one page each, and the records of ring
// 0, ring 1, …. The rings are those of channel.h, without chunks. A ring belongs to one thread of the target, whether
// or not that thread knows Python: pp_ring.thread_state holds its at::RecordFunction::currentThreadId(). "armed" is in
// the target's pp_private, which the kernel wipes in a forked child.
//
// All records are extended ones (record.h), and LOST with LOST_END. Their word identifies the RecordFunction object
// while it exists (PP_TORCH_KEY), or for a MEMORY the device.
#ifndef PTRACE_PROF_ATTACH_ABI_TORCH_ARENA_H_
#define PTRACE_PROF_ATTACH_ABI_TORCH_ARENA_H_

#include "attach/abi/channel.h"
#include "attach/abi/torch_row.h"

#define PP_TORCH_MAGIC 0x616e65726174706full
#define PP_TORCH_MIN_RING_RECORDS 2048u
PP_STATIC_ASSERT(PP_TORCH_MIN_RING_RECORDS >= 2 * (1 + PP_MAX_UNITS), "any record fits");
#define PP_TORCH_MAX_RING_RECORDS \
  (1u << 18) /* 4 MiB: 20 ms of a million operators a second, with all that is recorded */

#define PP_TORCH_KEY(object) ((uint32_t)((uint64_t)(object) >> 3))

// PyTorch's own execution trace.
enum pp_torch_trace_state {
  PP_TORCH_TRACE_NONE = 0,
  PP_TORCH_TRACE_ON = 1,
  PP_TORCH_TRACE_PAUSED = 2,   // until a thread runs an operator: see torch_trace.c
  PP_TORCH_TRACE_ENDING = 3,   // off; PyTorch completes the file after a while
  PP_TORCH_TRACE_OVER = 4,     // the file is complete
  PP_TORCH_TRACE_IN_USE = 5,   // the job makes one of its own
  PP_TORCH_TRACE_NO_FILE = 6,  // the process cannot make or open a file as long as that
  PP_TORCH_TRACE_TAKEN = 7,    // the job has ended it
  PP_TORCH_TRACE_IN_CHILD = 8,
  PP_TORCH_TRACE_STATES = 9,
};

typedef struct pp_torch_arena {
  // Written by the target before `state` becomes READY, and never after.
  uint64_t magic;
  uint32_t abi_version;
  uint32_t ring_count;
  uint32_t ring_records;
  uint32_t clock;  // pp_clock
  uint64_t nonce;
  uint64_t private_page;  // address of the pp_private in the target
  uint64_t size;          // of the memfd, in bytes
  // Written by the target.
  uint32_t state;  // pp_state, with release order
  uint32_t error;  // pp_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t leave_cause;  // pp_leave_cause
  uint32_t pad0;
  uint64_t without_ring;  // operators of threads for which no ring was free
  uint64_t unreadable;    // operators that the process could not copy: it may not call process_vm_readv
  uint64_t inputs_off;    // != 0: tensors are of no known layout, so that no inputs are recorded
  uint64_t memory_slots;  // pp_torch_boot.memory: how many of them lead to the hook
  uint32_t trace_state;   // pp_torch_trace_state, with release order
  uint32_t trace_pauses;
  // Written by the collector.
  uint64_t lease;      // clock value after which the hook leaves on its own
  uint64_t leave;      // != 0: leave at the next operator
  uint64_t trace_end;  // != 0: end the execution trace at the next operator
  pp_torch_row row;
  uint64_t pad1[3];  // what follows is written while threads read what is before
  // Written by the target: some of the callbacks at begins, and at ends, how many they were and how long they took, in
  // ticks of the clock.
  struct {
    uint64_t count;
    uint64_t ticks;
  } timed[2];
} pp_torch_arena;
PP_STATIC_ASSERT(offsetof(pp_torch_arena, state) == 48, "fixed");
PP_STATIC_ASSERT(offsetof(pp_torch_arena, lease) == 112, "fixed");
PP_STATIC_ASSERT(offsetof(pp_torch_arena, timed) == 192 && sizeof(pp_torch_arena) == 224, "fixed");

#define PP_TORCH_ARENA_SIZE(rings, records) PP_FREED_OFFSET(rings, (uint64_t)(records))
#define PP_TORCH_MAX_ARENA (64ull << 20) /* the address range that the target reserves for it */

// PP_EXTENDED_OP: the begin of an operator or range whose row is known. The name of a range follows, without a zero, in
// ⌈name_bytes / 16⌉ units. The words after that are its inputs.
typedef struct pp_torch_op {
  uint64_t function;  // the address of its schema; 0: the name follows
  uint64_t handle;
  int64_t sequence;  // -1: none
  uint32_t forward_thread;
  uint8_t scope;
  uint8_t is_async;
  uint16_t name_bytes;
} pp_torch_op;
PP_STATIC_ASSERT(sizeof(pp_torch_op) == 2 * sizeof(pp_unit), "two units");
#define PP_TORCH_MAX_NAME 256u

// PP_EXTENDED_OP_RAW: the begin of an operator as long as no row is set: the object itself, and the bytes around the
// address in fn_, if they could be read.
#define PP_TORCH_BEFORE_NAME 24u
#define PP_TORCH_NAME_BYTES 144u
typedef struct pp_torch_raw {
  uint8_t object[PP_TORCH_OBJECT_BYTES];
  uint8_t name[PP_TORCH_NAME_BYTES];  // from PP_TORCH_BEFORE_NAME bytes before that address on
  uint64_t has_name;
  uint64_t inputs_at;  // where in the object the inputs were looked for that follow as words; 0: none follow
} pp_torch_raw;
PP_STATIC_ASSERT(sizeof(pp_torch_raw) % sizeof(pp_unit) == 0, "whole units");

// PP_EXTENDED_OP_END has no payload.

// PP_EXTENDED_ALLOCATED, PP_EXTENDED_FREED: of the allocator of CPU memory, which does not say the size of what it
// frees. PP_EXTENDED_MEMORY: what another allocator reports.
typedef struct pp_torch_block {
  uint64_t address;
  int64_t bytes;  // < 0: freed
} pp_torch_block;
typedef struct pp_torch_reported {
  pp_torch_block block;
  uint64_t allocated;  // then, in all, on this device
  uint64_t reserved;
} pp_torch_reported;
PP_STATIC_ASSERT(sizeof(pp_torch_block) == sizeof(pp_unit) && sizeof(pp_torch_reported) == 2 * sizeof(pp_unit),
                 "units");
// c10::Device: an int8 for its type, an int8 for its index.
#define PP_TORCH_DEVICE_TYPE(device) ((uint8_t)(device))
#define PP_TORCH_DEVICE_INDEX(device) ((int8_t)((device) >> 8))

// An input: a head word, then what its kind says. 0: no more inputs.
enum pp_torch_input {
  PP_TORCH_INPUT_END = 0,
  PP_TORCH_INPUT_TENSOR = 1,     // its sizes, then its strides
  PP_TORCH_INPUT_UNDEFINED = 2,  // no tensor, in place of one
  PP_TORCH_INPUT_NUMBER = 3,     // the payload of an IValue
  PP_TORCH_INPUT_LIST = 4,       // its first elements, as inputs
  PP_TORCH_INPUT_OTHER = 5,      // None, or something of another kind
  PP_TORCH_INPUT_CUT = 6,        // the rest had no room
  PP_TORCH_INPUT_UNKNOWN = 7,    // its memory makes no sense
  PP_TORCH_INPUT_SPARSE = 8,     // a tensor without storage of its own: its sizes
  PP_TORCH_INPUT_STORED = 9,     // as TENSOR, then the address and the bytes of its storage
};
// type: of a tensor. dimensions: of a tensor; of a list, how many elements follow. count: elements of a list; of
// STORED, the device.
#define PP_TORCH_INPUT(kind, tag, type, dimensions, count)                                           \
  ((uint64_t)(kind) | (uint64_t)(tag) << 8 | (uint64_t)(type) << 16 | (uint64_t)(dimensions) << 24 | \
   (uint64_t)(count) << 32)
#define PP_TORCH_INPUT_KIND(word) ((uint32_t)((word)&0xffu))
#define PP_TORCH_INPUT_TAG(word) ((uint32_t)((word) >> 8 & 0xffu))
#define PP_TORCH_INPUT_TYPE(word) ((uint32_t)((word) >> 16 & 0xffu))
#define PP_TORCH_INPUT_DIMENSIONS(word) ((uint32_t)((word) >> 24 & 0xffu))
#define PP_TORCH_INPUT_COUNT(word) ((uint32_t)((word) >> 32))
#define PP_TORCH_MAX_INPUT_WORDS 960u
#define PP_TORCH_MAX_LIST 190u /* elements of a list that are recorded */
PP_STATIC_ASSERT(sizeof(pp_torch_raw) / 16 + PP_TORCH_MAX_INPUT_WORDS / 2 <= PP_MAX_UNITS, "with all inputs");
PP_STATIC_ASSERT((sizeof(pp_torch_op) + PP_TORCH_MAX_NAME) / 16 + PP_TORCH_MAX_INPUT_WORDS / 2 <= PP_MAX_UNITS, "too");

#endif  // PTRACE_PROF_ATTACH_ABI_TORCH_ARENA_H_
