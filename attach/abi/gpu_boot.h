// What the GPU shim is told: one block in its own writable data, filled in by the collector before the shim runs.
//
// As the boot block of the tracer stub (boot.h), with magic words and a version of its own: both may be resident in
// one target and know nothing of each other. Addresses are of the target.
#ifndef PTRACE_PROF_ATTACH_ABI_GPU_BOOT_H_
#define PTRACE_PROF_ATTACH_ABI_GPU_BOOT_H_

#include "attach/abi/abi.h"
#include "attach/abi/boot_head.h"
#include "attach/abi/gpu_arena.h"

#define PP_GPU_BOOT_MAGIC_0 0x7570672d70726f66ull
#define PP_GPU_BOOT_MAGIC_1 0x6d6968732d746f00ull

// Functions of the target, by their names. 0: it has none; optional ones may be 0.
#define PP_GPU_FOR_EACH_FUNCTION(X)                                                                         \
  X(PyModuleDef_Init)              /* of the interpreter, as is the next one; everything else is of libc */ \
  X(PyGILState_GetThisThreadState) /* optional, as is the next one: no launch is told of without them */    \
  X(pthread_self)                                                                                           \
  X(pthread_create)                                                                                         \
  X(pthread_detach)                                                                                         \
  X(dlopen)                                                                                                 \
  X(dlsym)                                                                                                  \
  X(clock_gettime)     /* of the vDSO; optional */                                                          \
  X(__register_atfork) /* optional: a child's CUDA calls are then safer */                                  \
  X(__cxa_atexit)      /* optional: the end of the process is then seen */

enum pp_gpu_function {
#define PP_GPU_FUNCTION_ENUM(name) PP_GPU_FN_##name,
  PP_GPU_FOR_EACH_FUNCTION(PP_GPU_FUNCTION_ENUM)
#undef PP_GPU_FUNCTION_ENUM
      PP_GPU_FN_COUNT,
  PP_GPU_FN_CAPACITY = 16,
};
PP_STATIC_ASSERT(PP_GPU_FN_COUNT <= PP_GPU_FN_CAPACITY, "room");

// Where records come from.
enum pp_gpu_backend_id {
  PP_GPU_BACKEND_NULL = 0,  // from nowhere: everything else works as ever
  PP_GPU_BACKEND_CUPTI = 1,
};

enum pp_gpu_boot_flag {
  PP_GPU_BOOT_LOAD = 1,      // the library is not mapped yet: load it from its path
  PP_GPU_BOOT_MPS = 2,       // the job shares its GPU by MPS, which old versions of CUPTI do not survive
  PP_GPU_BOOT_FINALIZE = 4,  // take CUPTI down at the end, where its version can
  PP_GPU_BOOT_FORCE = 8,     // the user insists: versions that are known to crash are taken nevertheless
};

// Lists end at the first 0.
#define PP_GPU_MAX_KINDS 32u
#define PP_GPU_MAX_CALLBACKS 160u

// What launches are told apart by: how many of each are told of a second.
enum pp_gpu_launch_class {
  PP_GPU_LAUNCH_SINGLE = 0,  // of one kernel, copy or memset
  PP_GPU_LAUNCH_GRAPH = 1,
  PP_GPU_LAUNCH_CLASSES = 2,
};
#define PP_GPU_CALL_OF_GRAPH 0x8000u /* in a list of launches, beside the call's number */

// Where things are in the structures of the target's interpreter, in bytes.
#define PP_GPU_NO_FIELD UINT32_MAX
typedef struct pp_gpu_python {
  uint64_t finalizing;     // address of a word that is 0 until the interpreter ends
  uint32_t thread_ident;   // its pthread_self
  uint32_t thread_frame;   // the innermost frame; or PP_GPU_NO_FIELD, and
  uint32_t thread_cframe;  // where a structure is that has it there:
  uint32_t cframe_frame;
  uint32_t frame_code;
  uint32_t frame_previous;
  uint32_t frame_instruction;
  uint32_t frame_owner;     // a byte, optional: from `no_python` on the frame is none of Python code
  uint32_t frame_tag_mask;  // bits of frame_code that are no address
  uint32_t no_python;
  uint32_t instruction_is_index;  // of 32 bits; else an address
  uint32_t code_filename;
  uint32_t code_name;
  uint32_t code_qualname;  // optional
  uint32_t code_line_table;
  uint32_t code_first_line;  // int32
} pp_gpu_python;
PP_STATIC_ASSERT(sizeof(pp_gpu_python) == 72, "fixed");

typedef struct pp_gpu_boot {
  uint64_t magic[2];
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;      // getpid(2) as the target sees itself
  uint32_t flags;          // pp_gpu_boot_flag
  uint32_t slot_count;     // 1..PP_GPU_MAX_SLOTS
  uint32_t slot_bytes;     // a multiple of the page, PP_GPU_MIN_SLOT_BYTES..PP_GPU_MAX_SLOT_BYTES
  uint32_t backend;        // pp_gpu_backend_id
  uint32_t object_head;    // bytes of the head of an object up to behind its type: 16, or 32 without a GIL
  uint64_t nonce;          // of this capture, != 0
  uint64_t lease;          // nanoseconds that the shim goes on while pp_gpu_arena.beat stands still
  // Written by the shim.
  uint64_t enter_entry;
  uint64_t busy;        // the pid in which a capture is on; 0: none
  uint32_t error;       // pp_gpu_error: only where it came to no arena that could say it
  uint32_t error_step;  // pp_gpu_step
  int32_t error_number;
  uint32_t sessions;  // so many captures switched on what the library records
  uint64_t served;
  char arena_name[40];
  uint64_t functions[PP_GPU_FN_CAPACITY];
  uint32_t flush_millis;       // between two flushes
  uint32_t grace_millis;       // for what was launched before the end to be done
  uint32_t device_pool_limit;  // buffers of device memory per context; 0: as the library likes
  uint32_t pad1;
  // Activity kinds, in the order in which they are switched on; those of API calls stand in front of all of these.
  uint8_t inventory_kinds[PP_GPU_MAX_KINDS];  // whose existing objects are told at once
  uint8_t device_kinds[PP_GPU_MAX_KINDS];
  // Calls of which there are records; an empty list: none of that API.
  uint16_t runtime_callbacks[PP_GPU_MAX_CALLBACKS];
  uint16_t driver_callbacks[PP_GPU_MAX_CALLBACKS];
  char library_soname[64];  // of the mapped libcupti: how it is found again
  char library_path[256];   // the same, should no library of that soname be found
  // Of launches, and the Python stacks that they are made on.
  uint32_t stack_bytes;  // for the stacks, a multiple of the page; 0: no launch is told of
  uint32_t pad2;
  // By pp_gpu_launch_class: nanoseconds between two launches of a thread that are told of, in the long run (0: all
  // are), and how far ahead of that it may be.
  uint64_t launch_gaps[PP_GPU_LAUNCH_CLASSES];
  uint64_t launch_bursts[PP_GPU_LAUNCH_CLASSES];
  uint16_t runtime_launches[PP_GPU_MAX_CALLBACKS];
  uint16_t driver_launches[PP_GPU_MAX_CALLBACKS];
  pp_gpu_python python;
} pp_gpu_boot;

PP_ASSERT_BOOT_HEAD(pp_gpu_boot, arena_name);
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, functions) == 144, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, flush_millis) == 272, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, inventory_kinds) == 288, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, runtime_callbacks) == 352, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, library_soname) == 992, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, stack_bytes) == 1312, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, runtime_launches) == 1352, "fixed");
PP_STATIC_ASSERT(offsetof(pp_gpu_boot, python) == 1992, "fixed");
PP_STATIC_ASSERT(sizeof(pp_gpu_boot) == 2064, "fixed");

#endif  // PTRACE_PROF_ATTACH_ABI_GPU_BOOT_H_
