// How every boot block begins, whatever stub it tells of its target: so that one way in serves all of them.
//
// pp_boot (the tracer stub) and pp_gpu_boot (the GPU shim) have these fields, under names of their own, at these
// offsets. What lies in [PP_BOOT_SAID_AT, PP_BOOT_SAID_END) is written by the stub, the rest by the collector.
#ifndef PTRACE_PROF_ATTACH_ABI_BOOT_HEAD_H_
#define PTRACE_PROF_ATTACH_ABI_BOOT_HEAD_H_

#include "attach/abi/abi.h"

// What the version of the target is like, where that is no offset. Which version it is, nobody in the target asks.
enum pp_python_trait {
  PP_PYTHON_MONITORING = 1,         // sys.monitoring tells of calls; else a profile function
  PP_PYTHON_INSTRUCTION_INDEX = 2,  // a frame has the place of its instruction in the code; else its address
  PP_PYTHON_INDEX_OF_UNITS = 4,     // that counts instructions of two bytes; else bytes
  PP_PYTHON_INTERPRETERS_SLOT = 8,  // modules say which interpreters may load them (Py_mod_multiple_interpreters)
  PP_PYTHON_GIL_SLOT = 16,          // modules say whether they need the GIL (Py_mod_gil)
};

typedef struct pp_boot_head {
  uint64_t magic[2];  // of the kind of stub
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;
  uint32_t flags;
  uint32_t sizes[4];
  uint64_t nonce;
  uint64_t lease;
  uint64_t enter_entry;  // int(void*): takes up what the block says
  uint64_t busy;         // != 0 while a capture is on
  uint32_t error;        // of the capture `served`
  uint32_t error_step;
  int32_t error_number;
  uint32_t sessions;     // of the GPU shim: so many captures switched on what its library records
  uint64_t served;       // the nonce that was last taken up
  char memory_name[40];  // of the memfd that it makes; zero-terminated
} pp_boot_head;

#define PP_BOOT_SAID_AT 64u
#define PP_BOOT_SAID_END 104u

#define PP_ASSERT_BOOT_HEAD(type, memory_name_field)                                                               \
  PP_STATIC_ASSERT(offsetof(type, magic) == 0 && offsetof(type, abi_version) == 16, "begins as every boot block"); \
  PP_STATIC_ASSERT(offsetof(type, target_pid) == 24 && offsetof(type, nonce) == 48, "begins as every boot block"); \
  PP_STATIC_ASSERT(offsetof(type, enter_entry) == 64 && offsetof(type, busy) == 72, "begins as every boot block"); \
  PP_STATIC_ASSERT(offsetof(type, error) == 80 && offsetof(type, served) == 96, "begins as every boot block");     \
  PP_STATIC_ASSERT(offsetof(type, memory_name_field) == 104, "begins as every boot block")

PP_ASSERT_BOOT_HEAD(pp_boot_head, memory_name);
PP_STATIC_ASSERT(sizeof(pp_boot_head) == 144, "fixed");

#endif  // PTRACE_PROF_ATTACH_ABI_BOOT_HEAD_H_
