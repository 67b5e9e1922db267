// What a stub is told: one block in its own writable data, filled in by the collector before the stub runs.
//
// The collector finds it in the image of the shared object by its two magic words (a test holds that they occur
// once), fills it in, and writes the image into a memfd of the target. In a stub that is resident from an
// earlier capture it is written anew in place, then pp_enter is queued.
#ifndef PTRACE_PROF_ATTACH_ABI_BOOT_H_
#define PTRACE_PROF_ATTACH_ABI_BOOT_H_

#include "attach/abi/abi.h"
#include "attach/abi/boot_head.h"

#define PP_BOOT_MAGIC_0 0x626f6f7470747261ull
#define PP_BOOT_MAGIC_1 0x63652d70726f6600ull

// Functions and objects of the target's interpreter, by their names in its symbol table. 0: it has none.
// Optional ones may be 0 although the version has them.
#define PP_FOR_EACH_FUNCTION(X)                                                             \
  X(PyThreadState_GetUnchecked) /* 3.13+; before: _PyThreadState_UncheckedGet */            \
  X(PyImport_AddModule)         /* borrowed; "sys" is always there: takes no import lock */ \
  X(PyObject_GetAttrString)                                                                 \
  X(PyObject_CallFunction)                                                                  \
  X(PyCFunction_NewEx)                                                                      \
  X(PyLong_AsLong)                                                                          \
  X(Py_DecRef)                                                                              \
  X(PyErr_Fetch)                                                                            \
  X(PyErr_Restore)                                                                          \
  X(PyErr_Clear)                                                                            \
  X(PyModuleDef_Init)                                                                       \
  X(PyEval_SetProfile)  /* 3.8 */                                                           \
  X(_PyEval_SetProfile) /* 3.9–3.11 */                                                    \
  X(PyThreadState_Swap) /* 3.8 */                                                           \
  X(PyInterpreterState_ThreadHead)                                                          \
  X(PyThreadState_Next)                                                                     \
  X(_Py_NoneStruct)                                                                         \
  X(PyCFunction_Type)                                                                       \
  X(PyCMethod_Type) /* 3.9+ */                                                              \
  X(PyMethodDescr_Type)                                                                     \
  X(PyClassMethodDescr_Type)                                                                \
  X(PyFunction_Type)                                                                        \
  X(PyMethod_Type)                                                                          \
  X(Py_AddPendingCall)                                                                      \
  X(PyExc_RecursionError) /* where the pointers to them are; optional */                    \
  X(PyExc_MemoryError)                                                                      \
  X(PyVectorcall_Function) /* 3.9+; optional */                                             \
  X(PyCode_AddWatcher)     /* 3.12+, and with it PyCode_ClearWatcher; optional */           \
  X(PyCode_ClearWatcher)                                                                    \
  X(PyUnicode_Type)                                                                         \
  X(PyCode_Type)                                                                            \
  X(PyType_Type)                                                                            \
  X(PyModule_Type)                                                                          \
  X(PyWrapperDescr_Type)                                                                    \
  X(_PyMethodWrapper_Type)                                                                  \
  X(PyCapsule_GetPointer)                                                                   \
  X(clock_gettime)    /* of the vDSO or libc; only for PP_CLOCK_MONOTONIC */                \
  X(__errno_location) /* of libc; optional: errno is then not preserved */

enum pp_function {
#define PP_FUNCTION_ENUM(name) PP_FN_##name,
  PP_FOR_EACH_FUNCTION(PP_FUNCTION_ENUM)
#undef PP_FUNCTION_ENUM
      PP_FN_COUNT,
  PP_FN_CAPACITY = 48,
};

// Offsets in the target's structures, in bytes, and other numbers that its version makes; UINT32_MAX: there is none.
#define PP_FOR_EACH_OFFSET(X)                                   \
  X(thread_frame)  /* 3.13+ and <= 3.10: the innermost frame */ \
  X(thread_cframe) /* 3.11, 3.12: _PyCFrame*, and there: */     \
  X(cframe_current_frame)                                       \
  X(thread_native_id) /* 3.11+ */                               \
  X(thread_interp)                                              \
  X(thread_profile_function) /* <= 3.11: c_profilefunc */       \
  X(interp_threads_head)                                        \
  X(frame_code)                                                 \
  X(frame_owner) /* 3.11+ */                                    \
  X(frame_locals)                                               \
  X(frame_instruction)                                          \
  X(frame_previous)                                             \
  X(code_flags)                                                 \
  X(code_bytes) /* <= 3.10: co_code, whose bytes begin at: */   \
  X(bytes_data)                                                 \
  X(code_name)                                                  \
  X(code_filename)                                              \
  X(code_first_line)                                            \
  X(code_qualname) /* 3.11+ */                                  \
  X(string_length)                                              \
  X(string_state)                                               \
  X(string_kind_shift) /* of what is there, in bits */          \
  X(string_ascii_data)                                          \
  X(string_compact_data)                                        \
  X(method_def)        /* PyCFunctionObject.m_ml */             \
  X(descriptor_method) /* PyMethodDescrObject.d_method */       \
  X(method_function)   /* PyMethodObject.im_func */             \
  X(object_type)                                                \
  X(type_name)                                                  \
  X(type_flags)                                                 \
  X(function_code)    /* PyFunctionObject.func_code */          \
  X(resume_operation) /* where a frame is that told nothing: */ \
  X(resume_quick)     /* RESUME, and the same specialised */

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
  PP_BOOT_C_CALLS = 1,  // calls of C functions too
  PP_BOOT_MUTES = 2,    // the channel has a table of pp_mute (3.12+; before, nothing looks at it)
};

typedef struct pp_boot {
  uint64_t magic[2];
  uint32_t abi_version;
  uint32_t python_traits;  // pp_python_trait
  int32_t target_pid;      // getpid(2) as the target sees itself
  uint32_t flags;          // pp_boot_flag
  uint32_t ring_count;     // <= PP_MAX_RINGS
  uint32_t ring_records;   // a power of two, PP_MIN_RING_RECORDS..PP_MAX_RING_RECORDS
  uint32_t clock;          // pp_clock
  uint32_t frame_tag_mask;
  uint64_t nonce;  // of this capture, != 0: pp_enter serves each nonce once, however often it is called
  uint64_t lease;  // the first one, in the clock's units
  // Written by the stub. `busy` stays 0 when pp_enter could do nothing; `error` then says why.
  uint64_t enter_entry;  // from when it is loaded: address of pp_enter, int(void*)
  uint64_t busy;         // != 0 while a capture is on
  uint32_t error;        // pp_error of the capture `served`
  uint32_t error_step;   // pp_step
  int32_t error_number;  // errno
  uint32_t pad0;
  uint64_t served;        // the nonce that pp_enter last took up (released: busy and error are valid)
  char channel_name[40];  // of the memfd; zero-terminated
  uint64_t functions[PP_FN_CAPACITY];
  uint32_t offsets[PP_OFF_CAPACITY];
  uint64_t longest_hold;  // how long a thread may wait for room in its ring, in the clock's units; 0: never
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
