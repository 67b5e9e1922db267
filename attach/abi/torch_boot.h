// The torch hook's boot block: a structure in the hook's writable data that the collector fills in before it runs.
//
// It works like the boot block of the tracer stub (boot.h), but has its own magic words and version: both may be
// resident in one target and are independent. Addresses are of the target.
#ifndef PTRACE_PROF_ATTACH_ABI_TORCH_BOOT_H_
#define PTRACE_PROF_ATTACH_ABI_TORCH_BOOT_H_

#include "attach/abi/abi.h"
#include "attach/abi/boot_head.h"
#include "attach/abi/torch_row.h"

#define PP_TORCH_ABI_VERSION 4u
#define PP_TORCH_BOOT_MAGIC_0 0x686372742d707066ull
#define PP_TORCH_BOOT_MAGIC_1 0x6b6f6f682d746f00ull

// Functions of the target: of its interpreter, of the vDSO, of its libtorch_cpu and libc10. X(name, symbol).
#define PP_TORCH_FOR_EACH_FUNCTION(X)                                                                            \
  X(PyModuleDef_Init, "PyModuleDef_Init")                                                                        \
  X(clock_gettime, "__vdso_clock_gettime") /* only for PP_CLOCK_MONOTONIC */                                     \
  X(add_callback, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")                                      \
  X(remove_callback, "_ZN2at14removeCallbackEm")                                                                 \
  X(thread_id, "_ZN2at14RecordFunction15currentThreadIdEv") /* a small number, never used for two threads */     \
  /* Only with a slot that calls them. */                                                                        \
  X(memory_new, "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm")                                                    \
  X(memory_delete, "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv")                                               \
  X(memory_report, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")                                      \
  /* Only for an execution trace. */                                                                             \
  X(trace_add,                                                                                                   \
    "_ZN5torch8profiler4impl25addExecutionTraceObserverERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE") \
  X(trace_enable, "_ZN5torch8profiler4impl28enableExecutionTraceObserverEv")                                     \
  X(trace_disable, "_ZN5torch8profiler4impl29disableExecutionTraceObserverEv")                                   \
  X(trace_remove, "_ZN5torch8profiler4impl28removeExecutionTraceObserverEv")
// trace_add with the C++ ABI before GCC 5's
#define PP_TORCH_TRACE_ADD_OLD_STRINGS "_ZN5torch8profiler4impl25addExecutionTraceObserverERKSs"
// memory_report up to 2.0
#define PP_TORCH_MEMORY_REPORT_BEFORE "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"

enum pp_torch_function {
#define PP_TORCH_FUNCTION_ENUM(name, symbol) PP_TORCH_FN_##name,
  PP_TORCH_FOR_EACH_FUNCTION(PP_TORCH_FUNCTION_ENUM)
#undef PP_TORCH_FUNCTION_ENUM
      PP_TORCH_FN_COUNT,
  PP_TORCH_FN_CAPACITY = 16,
};
PP_STATIC_ASSERT(PP_TORCH_FN_COUNT <= PP_TORCH_FN_CAPACITY, "room");

enum pp_torch_boot_flag {
  PP_TORCH_BOOT_INPUTS = 1,       // also record what operators get: shapes, types and numbers
  PP_TORCH_BOOT_OLD_STRINGS = 2,  // built with the C++ ABI before GCC 5's
  PP_TORCH_BOOT_STORAGES = 4,     // inputs: also where the memory of tensors is
  PP_TORCH_BOOT_TRACE = 8,        // also PyTorch's own execution trace
};

// A slot of a global offset table, through which a library of PyTorch calls a function that is to be recorded. As long
// as the capture lasts, it leads to the hook.
typedef struct pp_torch_slot_of {
  uint64_t at;        // 0: none
  uint32_t function;  // PP_TORCH_FN_memory_*
  uint32_t access;    // of its page, as mprotect(2) takes it
} pp_torch_slot_of;
#define PP_TORCH_MEMORY_SLOTS 16u

typedef struct pp_torch_boot {
  uint64_t magic[2];
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;      // getpid(2) as seen inside the target
  uint32_t flags;          // pp_torch_boot_flag
  uint32_t ring_count;     // <= PP_MAX_RINGS
  uint32_t ring_records;   // a power of two, PP_TORCH_MIN_RING_RECORDS..PP_TORCH_MAX_RING_RECORDS
  uint32_t clock;          // pp_clock
  uint32_t object_head;    // size of a PyObject's head
  uint64_t nonce;
  uint64_t lease;  // the first lease, in the clock's units
  // Written by the hook, as in pp_boot.
  uint64_t enter_entry;
  uint64_t busy;
  uint32_t error;  // pp_error
  uint32_t error_step;
  int32_t error_number;
  uint32_t pad0;
  uint64_t served;
  char arena_name[40];  // name of the memfd, zero-terminated
  uint64_t functions[PP_TORCH_FN_CAPACITY];
  pp_torch_tensor tensors[PP_TORCH_TENSOR_ROWS];   // sizes = 0: no row
  pp_torch_slot_of memory[PP_TORCH_MEMORY_SLOTS];  // those to record; none: no memory is recorded
  // For an execution trace.
  char trace_name[40];            // name of its memfd, zero-terminated
  uint64_t trace_most;            // bytes
  uint64_t trace_grace;           // from switching it off to its end, in the clock's units
  uint64_t trace_forward_thread;  // where in an at::RecordFunction
} pp_torch_boot;

PP_ASSERT_BOOT_HEAD(pp_torch_boot, arena_name);
PP_STATIC_ASSERT(offsetof(pp_torch_boot, functions) == 144, "fixed");
PP_STATIC_ASSERT(sizeof(pp_torch_boot) == 672, "fixed");

#endif  // PTRACE_PROF_ATTACH_ABI_TORCH_BOOT_H_
