// What an operator gets: the sizes, strides and types of tensors, and numbers, copied when it begins. No tensor is kept
// alive.
//
// Nothing is read directly before its layout was seen to be right on PP_PROBES objects: until then every read is a
// system call that fails where the memory does not exist.
#include "attach/target/torch/torch_hook.h"

enum { PP_PROBES = 64, PP_LIST_PROBES = 16, PP_TENSOR_BYTES = 192, PP_LIST_BYTES = 64, PP_MOST_INPUTS = 64 };
enum { PP_MOST_TYPES = 64, PP_MOST_ELEMENTS = 1 << 20 };

typedef struct pp_writer {
  uint64_t* words;
  uint64_t count;
  int is_full;
  int is_guess;  // what is read may not be an input at all: nothing is learnt from it
} pp_writer;

static int put(pp_writer* to, uint64_t word) {
  if (to->count >= PP_TORCH_MAX_INPUT_WORDS - 2) {
    to->is_full = 1;
    return 0;
  }
  to->words[to->count++] = word;
  return 1;
}

static int fetch(uint64_t from, void* to, uint64_t size, int is_safe) {
  if (is_safe) return pp_torch_copy(from, to, size) == size;
  __builtin_memcpy(to, (const void*)from, size);
  return 1;
}

#define PP_IN(type, bytes, offset) (*(const type*)((bytes) + (offset)))

// The sizes and strides of a tensor of more dimensions than it has room for.
static int fetch_outer(const char* tensor, const pp_torch_tensor* row, uint64_t dimensions, int is_safe, int64_t* to) {
  return fetch(PP_IN(uint64_t, tensor, row->sizes + 8), to, 2 * dimensions * sizeof(int64_t), is_safe);
}

// Whether the number of elements is the product of the sizes.
static int fits(const char* tensor, const pp_torch_tensor* row) {
  if (!row->sizes) return 0;
  const uint64_t dimensions = PP_IN(uint64_t, tensor, row->sizes);
  if (dimensions > PP_TORCH_MAX_DIMENSIONS || PP_IN(uint16_t, tensor, row->type) >= PP_MOST_TYPES) return 0;
  int64_t outer[2 * PP_TORCH_MAX_DIMENSIONS];
  const int64_t* sizes = &PP_IN(int64_t, tensor, row->sizes + 8);
  if (dimensions > PP_TORCH_INLINE) {
    if (!fetch_outer(tensor, row, dimensions, 1, outer)) return 0;
    sizes = outer;
  }
  int64_t elements = 1;
  for (uint64_t i = 0; i < dimensions; ++i) {
    if (sizes[i] < 0 || (elements && sizes[i] > INT64_MAX / elements)) return 0;
    elements *= sizes[i];
  }
  return elements == PP_IN(int64_t, tensor, row->elements);
}

// The row of tensors, as far as it is known; null: none fits.
static const pp_torch_tensor* row_of(const char* tensor, int is_probed, int is_guess) {
  pp_torch_tables* tables = pp_torch_self.tables;
  const pp_torch_tensor* found = 0;
  uint32_t unfit = __atomic_load_n(&tables->tensors_unfit, __ATOMIC_RELAXED);
  for (unsigned i = 0; i < PP_TORCH_TENSOR_ROWS; ++i) {
    const pp_torch_tensor* row = &pp_torch_boot_block.tensors[i];
    if (unfit >> i & 1) continue;
    if (!is_probed || fits(tensor, row)) {
      if (!found) found = row;
    } else {
      unfit |= 1u << i;
    }
  }
  if (!found && !is_guess) __atomic_store_n(&pp_torch_self.arena->inputs_off, 1, __ATOMIC_RELAXED);
  if (found && is_probed && !is_guess) {
    __atomic_fetch_or(&tables->tensors_unfit, unfit, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tables->tensors_seen, 1, __ATOMIC_RELAXED);
  }
  return found;
}

// The first layout that may be the right one.
static const pp_torch_tensor* fitting_row(const char* tensor) {
  const uint32_t unfit = __atomic_load_n(&pp_torch_self.tables->tensors_unfit, __ATOMIC_RELAXED);
  for (unsigned i = 0; i < PP_TORCH_TENSOR_ROWS; ++i) {
    const pp_torch_tensor* row = &pp_torch_boot_block.tensors[i];
    if (!(unfit >> i & 1) && fits(tensor, row)) return row;
  }
  return 0;
}

// The storage at `from`; without memory if it cannot be read.
static pp_torch_storage fetch_storage(uint64_t from, const pp_torch_tensor* row, int is_safe) {
  pp_torch_storage storage;
  if (!fetch(from + row->data, &storage, sizeof storage, is_safe)) storage.address = 0;
  return storage;
}

static void put_tensor(pp_writer* to, uint64_t address) {
  const int is_probed =
      to->is_guess || __atomic_load_n(&pp_torch_self.tables->tensors_seen, __ATOMIC_RELAXED) < PP_PROBES;
  char bytes[PP_TENSOR_BYTES];
  const char* tensor = (const char*)address;
  int has_storage = 1;
  if (is_probed) {
    tensor = bytes;
    if (!fetch(address, bytes, sizeof bytes, 1)) {
      put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_UNKNOWN, PP_TORCH_TAG_TENSOR, 0, 0, 0));
      return;
    }
    has_storage = 0;
    for (unsigned i = 0; i < PP_TORCH_TENSOR_ROWS; ++i) {
      const pp_torch_tensor* row = &pp_torch_boot_block.tensors[i];
      if (row->sizes && PP_IN(uint64_t, tensor, row->storage)) has_storage = 1;
    }
  }
  // One without storage says nothing about the layout.
  const pp_torch_tensor* row = has_storage ? row_of(tensor, is_probed, to->is_guess) : fitting_row(tensor);
  if (!row) {
    put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_UNKNOWN, PP_TORCH_TAG_TENSOR, 0, 0, 0));
    return;
  }
  const uint64_t dimensions = PP_IN(uint64_t, tensor, row->sizes);
  has_storage = PP_IN(uint64_t, tensor, row->storage) != 0;
  // An undefined tensor is one of no elements in one dimension.
  if (!has_storage && dimensions == 1 && !PP_IN(uint64_t, tensor, row->sizes + 8)) {
    put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_UNDEFINED, PP_TORCH_TAG_TENSOR, 0, 0, 0));
    return;
  }
  if (dimensions > PP_TORCH_MAX_DIMENSIONS || to->count + 3 + 2 * dimensions > PP_TORCH_MAX_INPUT_WORDS - 2) {
    to->is_full = 1;
    return;
  }
  int64_t outer[2 * PP_TORCH_MAX_DIMENSIONS];
  const int64_t* sizes = &PP_IN(int64_t, tensor, row->sizes + 8);
  const int64_t* strides = sizes + PP_TORCH_INLINE;
  if (dimensions > PP_TORCH_INLINE) {
    if (!fetch_outer(tensor, row, dimensions, is_probed, outer)) return;
    sizes = outer;
    strides = outer + dimensions;
  }
  pp_torch_storage storage = {.address = 0};
  if (has_storage && pp_torch_boot_block.flags & PP_TORCH_BOOT_STORAGES) {
    storage = fetch_storage(PP_IN(uint64_t, tensor, row->storage), row, is_probed);
  }
  const uint32_t kind = storage.address ? PP_TORCH_INPUT_STORED
                        : has_storage   ? PP_TORCH_INPUT_TENSOR
                                        : PP_TORCH_INPUT_SPARSE;
  const uint32_t device = storage.address ? (uint16_t)storage.device : 0;
  put(to, PP_TORCH_INPUT(kind, PP_TORCH_TAG_TENSOR, PP_IN(uint16_t, tensor, row->type), dimensions, device));
  for (uint64_t i = 0; i < dimensions; ++i) put(to, (uint64_t)sizes[i]);
  for (uint64_t i = 0; has_storage && i < dimensions; ++i) put(to, (uint64_t)strides[i]);
  if (storage.address) {
    put(to, storage.address);
    put(to, storage.bytes);
  }
}

static void put_value(pp_writer* to, const uint64_t* value, int depth);

// c10::detail::ListImpl: its vector of IValues comes after the table of functions and the counts.
static const uint32_t kVectorAt[] = {16, 24};

// Finds the elements of what may be a list. Returns whether it is one.
static int find_elements(uint64_t list, int is_safe, uint64_t* first, uint64_t* count) {
  char bytes[PP_LIST_BYTES];
  if (!fetch(list, bytes, sizeof bytes, is_safe)) return 0;
  for (unsigned i = 0; i < sizeof kVectorAt / sizeof kVectorAt[0]; ++i) {
    const uint64_t begin = PP_IN(uint64_t, bytes, kVectorAt[i]), end = PP_IN(uint64_t, bytes, kVectorAt[i] + 8);
    const uint64_t room = PP_IN(uint64_t, bytes, kVectorAt[i] + 16);
    if (begin % 8 || end < begin || room < end || (end - begin) % PP_TORCH_VALUE_BYTES ||
        end - begin > PP_MOST_ELEMENTS * (uint64_t)PP_TORCH_VALUE_BYTES || (!begin && room) || (begin && begin < PP_PAGE)) {
      continue;
    }
    *first = begin;
    *count = (end - begin) / PP_TORCH_VALUE_BYTES;
    return 1;
  }
  return 0;
}

static void put_list(pp_writer* to, uint32_t tag, uint64_t list) {
  pp_torch_tables* tables = pp_torch_self.tables;
  const int is_safe = to->is_guess || __atomic_load_n(&tables->lists[tag], __ATOMIC_RELAXED) < PP_LIST_PROBES ||
                      __atomic_load_n(&tables->no_lists[tag], __ATOMIC_RELAXED) != 0;
  uint64_t first = 0, count = 0, values[2 * PP_TORCH_MAX_LIST];
  int is_list = find_elements(list, is_safe, &first, &count);
  const uint64_t some = count < PP_TORCH_MAX_LIST ? count : PP_TORCH_MAX_LIST;
  if (is_list && some) is_list = fetch(first, values, some * PP_TORCH_VALUE_BYTES, is_safe);
  for (uint64_t i = 0; is_list && is_safe && i < some; ++i) {
    is_list = (uint32_t)values[2 * i + 1] < PP_TORCH_TAGS && (uint32_t)values[2 * i + 1] == (uint32_t)values[1];
  }
  if (!is_list) {
    if (!to->is_guess) __atomic_fetch_add(&tables->no_lists[tag], 1, __ATOMIC_RELAXED);
    put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_OTHER, tag, 0, 0, 0));
    return;
  }
  if (is_safe && some && !to->is_guess) __atomic_fetch_add(&tables->lists[tag], 1, __ATOMIC_RELAXED);
  const uint64_t head = to->count;
  if (!put(to, 0)) return;
  uint64_t written = 0;
  while (written < some && !to->is_full) {
    const uint64_t before = to->count;
    put_value(to, &values[2 * written], 1);
    if (to->is_full) {
      to->count = before;
    } else {
      ++written;
    }
  }
  to->is_full = 0;  // the list says itself that it is longer
  to->words[head] = PP_TORCH_INPUT(PP_TORCH_INPUT_LIST, tag, 0, written, count);
}

static void put_value(pp_writer* to, const uint64_t* value, int depth) {
  const uint32_t tag = (uint32_t)value[1];
  if (tag == PP_TORCH_TAG_TENSOR) {
    put_tensor(to, value[0]);
  } else if (tag >= PP_TORCH_TAG_LIST_FIRST && tag <= PP_TORCH_TAG_LIST_LAST && !depth) {
    put_list(to, tag, value[0]);
  } else if (tag == PP_TORCH_TAG_NONE || tag >= PP_TORCH_TAGS) {
    put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_OTHER, tag & 0xff, 0, 0, 0));
  } else if (put(to, PP_TORCH_INPUT(PP_TORCH_INPUT_NUMBER, tag, 0, 0, 0)) && !put(to, value[0])) {
    to->count--;
  }
}

uint64_t pp_torch_inputs(const uint64_t* array, int is_safe, uint64_t* words) {
  const uint64_t first = array[0], count = array[1];
  if (!count || count > PP_MOST_INPUTS || first % 8 || __atomic_load_n(&pp_torch_self.arena->inputs_off, __ATOMIC_RELAXED))
    return 0;
  uint64_t values[2 * PP_MOST_INPUTS];
  const uint64_t* value = (const uint64_t*)first;
  if (is_safe) {
    if (pp_torch_copy(first, values, count * PP_TORCH_VALUE_BYTES) != count * PP_TORCH_VALUE_BYTES) return 0;
    for (uint64_t i = 0; i < count; ++i) {
      if ((uint32_t)values[2 * i + 1] >= PP_TORCH_TAGS) return 0;
    }
    value = values;
  }
  pp_writer to = {words, 0, 0, is_safe};
  for (uint64_t i = 0; i < count && !to.is_full; ++i) {
    const uint64_t before = to.count;
    put_value(&to, value + 2 * i, 0);
    if (to.is_full) to.count = before;
  }
  if (to.is_full) words[to.count++] = PP_TORCH_INPUT(PP_TORCH_INPUT_CUT, 0, 0, 0, count);
  if (to.count % 2) words[to.count++] = PP_TORCH_INPUT_END;
  return to.count;
}

// Whether there are inputs at `first`.
static int are_inputs(uint64_t first, uint64_t count) {
  uint64_t values[2 * PP_MOST_INPUTS];
  if (first % 8 || count > PP_MOST_INPUTS ||
      pp_torch_copy(first, values, count * PP_TORCH_VALUE_BYTES) != count * PP_TORCH_VALUE_BYTES) {
    return 0;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if ((uint32_t)values[2 * i + 1] >= PP_TORCH_TAGS) return 0;
  }
  return 1;
}

uint64_t pp_torch_row_inputs(const uint64_t* array, uint64_t* words) {
  pp_torch_tables* tables = pp_torch_self.tables;
  if (pp_likely(__atomic_load_n(&tables->inputs_seen, __ATOMIC_RELAXED) >= PP_PROBES)) {
    return pp_torch_inputs(array, 0, words);
  }
  if (!array[1]) return 0;
  if (!are_inputs(array[0], array[1])) {
    __atomic_store_n(&pp_torch_self.arena->inputs_off, 1, __ATOMIC_RELAXED);
    return 0;
  }
  __atomic_fetch_add(&tables->inputs_seen, 1, __ATOMIC_RELAXED);
  return pp_torch_inputs(array, 1, words);
}
