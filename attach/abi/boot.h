// The tracer stub's boot block: a structure in the stub's writable data that the collector fills in before the stub
// runs.
//
// The collector finds it in the image of the shared object by its two magic words (a test checks that they occur once),
// fills it in, and writes the image into a memfd of the target. For a stub that an earlier capture left in the target,
// the collector rewrites the block in place and queues pp_enter.
#ifndef PTRACE_PROF_ATTACH_ABI_BOOT_H_
#define PTRACE_PROF_ATTACH_ABI_BOOT_H_

#include "attach/abi/abi.h"
#include "attach/abi/boot_head.h"

#define PP_BOOT_MAGIC_0 0x626f6f7470747261ull
#define PP_BOOT_MAGIC_1 0x63652d70726f6600ull

// Functions and objects of the target's interpreter, by their names in its symbol table. 0: it has none.
// Optional ones may be 0 even if the version has them.
#define PP_FOR_EACH_FUNCTION(X)                                                                          \
  X(PyThreadState_GetUnchecked) /* 3.13+; before: _PyThreadState_UncheckedGet */                         \
  X(PyImport_AddModule)         /* borrowed; with "sys", which always exists, it takes no import lock */ \
  X(PyObject_GetAttrString)                                                                              \
  X(PyObject_CallFunction)                                                                               \
  X(PyCFunction_NewEx)                                                                                   \
  X(PyLong_AsLong)                                                                                       \
  X(Py_DecRef)                                                                                           \
  X(PyErr_Fetch)                                                                                         \
  X(PyErr_Restore)                                                                                       \
  X(PyErr_Clear)                                                                                         \
  X(PyModuleDef_Init)                                                                                    \
  X(PyEval_SetProfile)  /* 3.8 */                                                                        \
  X(_PyEval_SetProfile) /* 3.9–3.11 */                                                                 \
  X(PyThreadState_Swap) /* 3.8 */                                                                        \
  X(PyInterpreterState_ThreadHead)                                                                       \
  X(PyThreadState_Next)                                                                                  \
  X(_Py_NoneStruct)                                                                                      \
  X(PyCFunction_Type)                                                                                    \
  X(PyCMethod_Type) /* 3.9+ */                                                                           \
  X(PyMethodDescr_Type)                                                                                  \
  X(PyClassMethodDescr_Type)                                                                             \
  X(PyFunction_Type)                                                                                     \
  X(PyMethod_Type)                                                                                       \
  X(Py_AddPendingCall)                                                                                   \
  X(PyExc_RecursionError) /* address of the pointer to it, as for the next; optional */                  \
  X(PyExc_MemoryError)                                                                                   \
  X(PyVectorcall_Function) /* 3.9+; optional */                                                          \
  X(PyCode_AddWatcher)     /* 3.12+, together with PyCode_ClearWatcher; optional */                      \
  X(PyCode_ClearWatcher)                                                                                 \
  X(PyUnicode_Type)                                                                                      \
  X(PyCode_Type)                                                                                         \
  X(PyType_Type)                                                                                         \
  X(PyModule_Type)                                                                                       \
  X(PyWrapperDescr_Type)                                                                                 \
  X(_PyMethodWrapper_Type)                                                                               \
  X(PyCapsule_GetPointer)                                                                                \
  X(clock_gettime)    /* from the vDSO or libc; only for PP_CLOCK_MONOTONIC */                           \
  X(__errno_location) /* from libc; if 0, errno is not preserved */

enum pp_function {
#define PP_FUNCTION_ENUM(name) PP_FN_##name,
  PP_FOR_EACH_FUNCTION(PP_FUNCTION_ENUM)
#undef PP_FUNCTION_ENUM
      PP_FN_COUNT,
  PP_FN_CAPACITY = 48,
};

// Offsets in bytes in the target's structures, and other numbers that depend on its version. UINT32_MAX: none.
#define PP_FOR_EACH_OFFSET(X)                                                  \
  X(thread_frame)  /* 3.13+ and <= 3.10: the innermost frame */                \
  X(thread_cframe) /* 3.11, 3.12: _PyCFrame*, which holds the next field */    \
  X(cframe_current_frame)                                                      \
  X(thread_native_id) /* 3.11+ */                                              \
  X(thread_interp)                                                             \
  X(thread_profile_function) /* <= 3.11: c_profilefunc */                      \
  X(interp_threads_head)                                                       \
  X(frame_code)                                                                \
  X(frame_owner) /* 3.11+ */                                                   \
  X(frame_locals)                                                              \
  X(frame_instruction)                                                         \
  X(frame_previous)                                                            \
  X(code_flags)                                                                \
  X(code_bytes) /* <= 3.10: co_code; its bytes begin at the next field */      \
  X(bytes_data)                                                                \
  X(code_name)                                                                 \
  X(code_filename)                                                             \
  X(code_first_line)                                                           \
  X(code_qualname) /* 3.11+ */                                                 \
  X(string_length)                                                             \
  X(string_state)                                                              \
  X(string_kind_shift) /* the shift of the kind in string_state, in bits */    \
  X(string_ascii_data)                                                         \
  X(string_compact_data)                                                       \
  X(method_def)        /* PyCFunctionObject.m_ml */                            \
  X(descriptor_method) /* PyMethodDescrObject.d_method */                      \
  X(method_function)   /* PyMethodObject.im_func */                            \
  X(object_type)                                                               \
  X(type_name)                                                                 \
  X(type_flags)                                                                \
  X(function_code)    /* PyFunctionObject.func_code */                         \
  X(resume_operation) /* operation of a frame that has reported nothing yet */ \
  X(resume_quick)     /* RESUME, and its specialised form */

enum pp_offset {
#define PP_OFFSET_ENUM(name) PP_OFF_##name,
  PP_FOR_EACH_OFFSET(PP_OFFSET_ENUM)
#undef PP_OFFSET_ENUM
      PP_OFF_COUNT,
  PP_OFF_CAPACITY = 40,
};
PP_STATIC_ASSERT(PP_FN_COUNT <= PP_FN_CAPACITY, "room");
PP_STATIC_ASSERT(PP_OFF_COUNT <= PP_OFF_CAPACITY, "room");

enum pp_boot_flag {
  PP_BOOT_C_CALLS = 1,  // also trace calls of C functions
  PP_BOOT_MUTES = 2,    // the channel has a table of pp_mute (3.12+; earlier versions do not use it)
};

typedef struct pp_boot {
  uint64_t magic[2];
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;      // getpid(2) as seen inside the target
  uint32_t flags;          // pp_boot_flag
  uint32_t ring_count;     // <= PP_MAX_RINGS
  uint32_t ring_records;   // a power of two, PP_MIN_RING_RECORDS..PP_MAX_RING_RECORDS
  uint32_t clock;          // pp_clock
  uint32_t frame_tag_mask;
  uint64_t nonce;  // of this capture, != 0: pp_enter serves each nonce once, however often it is called
  uint64_t lease;  // the first lease, in the clock's units
  // Written by the stub. `busy` stays 0 if pp_enter could do nothing; `error` then says why.
  uint64_t enter_entry;  // set when the stub is loaded: address of pp_enter, int(void*)
  uint64_t busy;         // != 0 while a capture is active
  uint32_t error;        // pp_error of the capture `served`
  uint32_t error_step;   // pp_step
  int32_t error_number;  // errno
  uint32_t pad0;
  uint64_t served;        // the nonce that pp_enter served last (a release store: busy and error are valid)
  char channel_name[40];  // name of the memfd, zero-terminated
  uint64_t functions[PP_FN_CAPACITY];
  uint32_t offsets[PP_OFF_CAPACITY];
  uint64_t longest_hold;  // how long a thread may wait for room in its ring, in the clock's units; 0: it never waits
} pp_boot;

PP_ASSERT_BOOT_HEAD(pp_boot, channel_name);
PP_STATIC_ASSERT(offsetof(pp_boot, nonce) == 48, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, enter_entry) == 64, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, error) == 80, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, served) == 96, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, channel_name) == 104, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, functions) == 144, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, offsets) == 528, "fixed");
PP_STATIC_ASSERT(offsetof(pp_boot, longest_hold) == 688, "fixed");
PP_STATIC_ASSERT(sizeof(pp_boot) == 696, "fixed");

#endif  // PTRACE_PROF_ATTACH_ABI_BOOT_H_
