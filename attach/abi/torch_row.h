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

// Where the fields of c10::TensorImpl are. The hook gets all known rows, and keeps those that fit the tensors it meets:
// a row fits if the number of elements is the product of the sizes. Sizes are the number of dimensions, up to
// PP_TORCH_INLINE sizes and as many strides; of more dimensions, the address of both.
typedef struct pp_torch_tensor {
  uint32_t storage;  // c10::Storage: null in an undefined tensor
  uint32_t sizes;
  uint32_t elements;
  uint32_t type;  // u16: the number of the c10::ScalarType
  uint32_t data;  // in the c10::StorageImpl: a c10::DataPtr, then the storage's bytes; see pp_torch_storage
} pp_torch_tensor;
PP_STATIC_ASSERT(sizeof(pp_torch_tensor) == 20, "fixed");

#define PP_TORCH_TENSOR_ROWS 4u
#define PP_TORCH_INLINE 5u
#define PP_TORCH_MAX_DIMENSIONS 64u

// What a c10::StorageImpl has at pp_torch_tensor.data.
typedef struct pp_torch_storage {
  uint64_t address;  // of the memory; 0: none
  uint64_t owner[2];
  uint64_t device;  // PP_TORCH_DEVICE_*, in its lower half
  uint64_t bytes;
} pp_torch_storage;

// c10::IValue: eight bytes of payload, then its tag. The tags of lists differ by version: the hook finds out which.
#define PP_TORCH_VALUE_BYTES 16u
enum pp_torch_tag {
  PP_TORCH_TAG_NONE = 0,
  PP_TORCH_TAG_TENSOR = 1,
  PP_TORCH_TAG_DOUBLE = 3,
  PP_TORCH_TAG_INT = 5,
  PP_TORCH_TAG_LIST_FIRST = 12,  // of 1.13; 13 and 14 in later versions
  PP_TORCH_TAG_LIST_LAST = 14,
  PP_TORCH_TAGS = 32,
};
// Relative to the tag of lists, in all versions.
#define PP_TORCH_BOOL_BEFORE_LIST 4u
#define PP_TORCH_STRING_BEFORE_LIST 2u

#endif  // PTRACE_PROF_ATTACH_ABI_TORCH_ROW_H_
