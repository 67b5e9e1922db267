// Where the fields of PyTorch's at::RecordFunction are: a row of offsets per version and C++ ABI, found by looking.
//
// The collector fills in a row once it has checked it on copies of real objects (PP_TORCH_RAW). Until then the hook
// reads no field except those whose place is the same in all versions from 1.13 to 2.15: PP_TORCH_AT_*.
#ifndef PTRACE_PROF_ATTACH_ABI_TORCH_ROW_H_
#define PTRACE_PROF_ATTACH_ABI_TORCH_ROW_H_

#include "attach/abi/abi.h"

#define PP_TORCH_AT_THREAD 88u      // u64
#define PP_TORCH_AT_SCOPE 96u       // u8
#define PP_TORCH_AT_FUNCTION 160u   // a std::string, or the address of a FunctionSchema
#define PP_TORCH_OBJECT_BYTES 336u  // read at most, from the object's begin

// What fn_ holds.
enum { PP_TORCH_FN_STRING = 0, PP_TORCH_FN_SCHEMA = 1 };

enum pp_torch_row_flag {
  PP_TORCH_ROW_OLD_STRINGS = 1,  // a std::string is one pointer, its length is 24 bytes before the text
};

typedef struct pp_torch_row {
  uint32_t is_set;  // written last, with release order; 0: unknown, copy whole objects
  uint32_t flags;   // pp_torch_row_flag
  uint32_t function_index;
  uint32_t sequence;
  uint32_t inputs;
  uint32_t forward_thread;
  uint32_t handle;
  uint32_t is_async;
} pp_torch_row;
PP_STATIC_ASSERT(sizeof(pp_torch_row) == 32, "fixed");

#endif  // PTRACE_PROF_ATTACH_ABI_TORCH_ROW_H_
