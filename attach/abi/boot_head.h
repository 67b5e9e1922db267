// The common head of all boot blocks, so that one injection path serves every kind of stub.
//
// pp_boot (the tracer stub) and pp_gpu_boot (the GPU shim) have these fields, under their own names, at these offsets.
// The stub writes [PP_BOOT_SAID_AT, PP_BOOT_SAID_END); the collector writes the rest.
#ifndef PTRACE_PROF_ATTACH_ABI_BOOT_HEAD_H_
#define PTRACE_PROF_ATTACH_ABI_BOOT_HEAD_H_

#include "attach/abi/abi.h"

// Traits of the target's version that are not offsets. Code in the target tests these traits, never the version.
enum pp_python_trait {
  PP_PYTHON_MONITORING = 1,         // sys.monitoring reports calls; otherwise a profile function does
  PP_PYTHON_INSTRUCTION_INDEX = 2,  // a frame holds the index of its instruction in the code; otherwise its address
  PP_PYTHON_INDEX_OF_UNITS = 4,     // that index counts instructions of two bytes; otherwise bytes
  PP_PYTHON_INTERPRETERS_SLOT = 8,  // modules declare which interpreters may load them (Py_mod_multiple_interpreters)
  PP_PYTHON_GIL_SLOT = 16,          // modules declare whether they need the GIL (Py_mod_gil)
};

typedef struct pp_boot_head {
  uint64_t magic[2];  // identifies the kind of stub
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;
  uint32_t flags;
  uint32_t sizes[4];
  uint64_t nonce;
  uint64_t lease;
  uint64_t enter_entry;  // int(void*): acts on the contents of the block
  uint64_t busy;         // != 0 while a capture is active
  uint32_t error;        // of the capture `served`
  uint32_t error_step;
  int32_t error_number;
  uint32_t sessions;     // GPU shim only: number of captures that switched on the library's recording
  uint64_t served;       // the nonce that was served last
  char memory_name[40];  // name of the memfd that the stub makes; zero-terminated
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
