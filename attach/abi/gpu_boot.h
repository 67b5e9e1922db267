// The GPU shim's boot block: a structure in the shim's writable data that the collector fills in before the shim runs.
//
// It works like the boot block of the tracer stub (boot.h), but has its own magic words and version: both may be
// resident in one target and are independent. Addresses are of the target.
#ifndef PTRACE_PROF_ATTACH_ABI_GPU_BOOT_H_
#define PTRACE_PROF_ATTACH_ABI_GPU_BOOT_H_

#include "attach/abi/abi.h"
#include "attach/abi/boot_head.h"
#include "attach/abi/gpu_arena.h"

#define PP_GPU_BOOT_MAGIC_0 0x7570672d70726f66ull
#define PP_GPU_BOOT_MAGIC_1 0x6d6968732d746f00ull

// Functions of the target, by their names. 0: the target has none; optional ones may be 0.
#define PP_GPU_FOR_EACH_FUNCTION(X)                                                                      \
  X(PyModuleDef_Init)              /* of the interpreter, like the next one; all others are of libc */   \
  X(PyGILState_GetThisThreadState) /* optional, like the next one: without them no launch is recorded */ \
  X(pthread_self)                                                                                        \
  X(pthread_create)                                                                                      \
  X(pthread_detach)                                                                                      \
  X(dlopen)                                                                                              \
  X(dlsym)                                                                                               \
  X(clock_gettime)     /* from the vDSO; optional */                                                     \
  X(__register_atfork) /* optional: makes CUDA calls in a child safer */                                 \
  X(__cxa_atexit)      /* optional: lets the shim see the end of the process */

enum pp_gpu_function {
#define PP_GPU_FUNCTION_ENUM(name) PP_GPU_FN_##name,
  PP_GPU_FOR_EACH_FUNCTION(PP_GPU_FUNCTION_ENUM)
#undef PP_GPU_FUNCTION_ENUM
      PP_GPU_FN_COUNT,
  PP_GPU_FN_CAPACITY = 16,
};
PP_STATIC_ASSERT(PP_GPU_FN_COUNT <= PP_GPU_FN_CAPACITY, "room");

// The source of records.
enum pp_gpu_backend_id {
  PP_GPU_BACKEND_NULL = 0,  // no records; everything else works as usual
  PP_GPU_BACKEND_CUPTI = 1,
};

enum pp_gpu_boot_flag {
  PP_GPU_BOOT_LOAD = 1,      // the library is not mapped yet: load it from its path
  PP_GPU_BOOT_MPS = 2,       // the job shares its GPU by MPS, which old versions of CUPTI do not survive
  PP_GPU_BOOT_FINALIZE = 4,  // shut CUPTI down at the end, if its version can
  PP_GPU_BOOT_FORCE = 8,     // the user insists: also use versions that are known to crash
};

// Lists end at the first 0.
#define PP_GPU_MAX_KINDS 32u
#define PP_GPU_MAX_CALLBACKS 160u

// Classes of launches. How many launches are recorded per second is limited for each class.
enum pp_gpu_launch_class {
  PP_GPU_LAUNCH_SINGLE = 0,  // of one kernel, copy or memset
  PP_GPU_LAUNCH_GRAPH = 1,
  PP_GPU_LAUNCH_CLASSES = 2,
};
#define PP_GPU_CALL_OF_GRAPH 0x8000u /* in a list of launches, beside the call's number */

// Offsets in bytes in the structures of the target's interpreter.
#define PP_GPU_NO_FIELD UINT32_MAX
typedef struct pp_gpu_python {
  uint64_t finalizing;     // address of a word that is 0 until the interpreter ends
  uint32_t thread_ident;   // the thread's pthread_self
  uint32_t thread_frame;   // the innermost frame; or PP_GPU_NO_FIELD, and then
  uint32_t thread_cframe;  // the structure that holds the innermost frame, at:
  uint32_t cframe_frame;
  uint32_t frame_code;
  uint32_t frame_previous;
  uint32_t frame_instruction;
  uint32_t frame_owner;     // a byte, optional: from `no_python` on, the frame is not a frame of Python code
  uint32_t frame_tag_mask;  // bits of frame_code that are not part of the address
  uint32_t no_python;
  uint32_t instruction_is_index;  // 1: an index of 32 bits; 0: an address
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
  int32_t target_pid;      // getpid(2) as seen inside the target
  uint32_t flags;          // pp_gpu_boot_flag
  uint32_t slot_count;     // 1..PP_GPU_MAX_SLOTS
  uint32_t slot_bytes;     // a multiple of the page, PP_GPU_MIN_SLOT_BYTES..PP_GPU_MAX_SLOT_BYTES
  uint32_t backend;        // pp_gpu_backend_id
  uint32_t object_head;    // bytes of an object's head, including its type: 16, or 32 without a GIL
  uint64_t nonce;          // of this capture, != 0
  uint64_t lease;          // nanoseconds that the shim continues while pp_gpu_arena.beat does not change
  // Written by the shim.
  uint64_t enter_entry;
  uint64_t busy;        // the pid in which a capture is active; 0: none
  uint32_t error;       // pp_gpu_error: only if there is no arena to report it in
  uint32_t error_step;  // pp_gpu_step
  int32_t error_number;
  uint32_t sessions;  // number of captures that switched on the library's recording
  uint64_t served;
  char arena_name[40];
  uint64_t functions[PP_GPU_FN_CAPACITY];
  uint32_t flush_millis;       // interval of flushes
  uint32_t grace_millis;       // time at the end for work that was launched before to finish
  uint32_t device_pool_limit;  // buffers of device memory per context; 0: the library decides
  uint32_t pad1;
  // Activity kinds, in the order in which they are switched on; the kinds of API calls come before all of these.
  uint8_t inventory_kinds[PP_GPU_MAX_KINDS];  // kinds that report existing objects at once
  uint8_t device_kinds[PP_GPU_MAX_KINDS];
  // Calls that are recorded; an empty list: no call of that API.
  uint16_t runtime_callbacks[PP_GPU_MAX_CALLBACKS];
  uint16_t driver_callbacks[PP_GPU_MAX_CALLBACKS];
  char library_soname[64];  // of the mapped libcupti, to find it again
  char library_path[256];   // used if no library of that soname is found
  // Launches, and the Python stacks on which they are made.
  uint32_t stack_bytes;  // room for the stacks, a multiple of the page; 0: no launch is recorded
  uint32_t pad2;
  // By pp_gpu_launch_class: nanoseconds between two recorded launches of a thread in the long run (0: all are
  // recorded), and how far ahead of that rate a thread may be.
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
