// Where CUPTI puts the fields that were asked of it: it says so with every buffer that it gives back, for as long as
// that takes. What is said first is written down for the collector, before that buffer is; whatever comes later must be
// the same. On any thread: no lock, no allocation, no system call. Threads that write the same at the same time write
// the same; if they do not, whoever looks next sees that.
#include "attach/intarget/cupti_library.h"

enum { PP_MOST_PLACES = 256, PP_MOST_BYTES = 4096, PP_MOST_FIELD_BYTES = 64 };

const pp_gpu_fields* pp_cupti_fields_of(uint32_t kind) {
  for (const pp_gpu_fields* row = pp_gpu_boot_block.fields; row < pp_gpu_boot_block.fields + PP_GPU_LAYOUTS; ++row) {
    if (!row->kind) return 0;
    if (row->kind == kind && row->count && row->count <= PP_GPU_LAYOUT_FIELDS) return row;
  }
  return 0;
}

// A later version may have longer entries.
static const pp_cupti_field_place* place_of(const pp_cupti_record_layout* told, uint8_t field) {
  const size_t said = told->places->size;
  const size_t stride = said > sizeof(pp_cupti_field_place) ? said : sizeof(pp_cupti_field_place);
  for (size_t i = 0; i < told->count && i < PP_MOST_PLACES; ++i) {
    const pp_cupti_field_place* place = (const pp_cupti_field_place*)((const uint8_t*)told->places + i * stride);
    if (place->field == field) return place;
  }
  return 0;
}

static int makes_sense(const pp_cupti_record_layout* told) {
  return told->size >= sizeof *told && told->places && told->count && told->bytes >= sizeof(uint32_t) &&
         told->bytes <= PP_MOST_BYTES;
}

static void set16(uint16_t* to, size_t value) { __atomic_store_n(to, (uint16_t)value, __ATOMIC_RELAXED); }
static void set8(uint8_t* to, size_t value) { __atomic_store_n(to, (uint8_t)value, __ATOMIC_RELAXED); }

// Compares with what is known, or makes that known. 0: it is something else.
static int take(const pp_gpu_fields* asked, const pp_cupti_record_layout* told, pp_gpu_layout* layout, int is_known) {
  if (is_known && layout->bytes != told->bytes) return 0;
  __atomic_store_n(&layout->bytes, (uint32_t)told->bytes, __ATOMIC_RELAXED);
  for (unsigned i = 0; i < asked->count; ++i) {
    const pp_cupti_field_place* place = place_of(told, asked->ids[i]);
    const int is_there = place && place->bytes <= PP_MOST_FIELD_BYTES && place->bytes <= told->bytes &&
                         place->offset <= told->bytes - place->bytes;
    const size_t offset = is_there ? place->offset : 0, bytes = is_there ? place->bytes : 0;
    if (is_known && (layout->offsets[i] != offset || layout->sizes[i] != bytes)) return 0;
    set16(&layout->offsets[i], offset);
    set8(&layout->sizes[i], bytes);
  }
  return 1;
}

static void set_state(pp_gpu_layout* layout, uint32_t state) {
  __atomic_store_n(&layout->state, state, __ATOMIC_RELEASE);
  __atomic_add_fetch(&pp_gpu.arena->layouts_told, 1, __ATOMIC_RELEASE);
}

static void learn(const pp_gpu_fields* asked, const pp_cupti_record_layout* told, pp_gpu_layout* layout) {
  const uint32_t state = __atomic_load_n(&layout->state, __ATOMIC_ACQUIRE);
  if (state == PP_GPU_LAYOUT_CONTRADICTED) return;
  const int is_known = state == PP_GPU_LAYOUT_KNOWN;
  if (!makes_sense(told) || !take(asked, told, layout, is_known)) {
    // Such records can be stepped over as long as it is certain how long they are.
    if (is_known && told->bytes != layout->bytes) set16(&pp_gpu.arena->strides[asked->kind], 0);
    set_state(layout, PP_GPU_LAYOUT_CONTRADICTED);
  } else if (!is_known) {
    uint16_t* stride = &pp_gpu.arena->strides[asked->kind];
    if (!__atomic_load_n(stride, __ATOMIC_RELAXED)) set16(stride, told->bytes);
    set_state(layout, PP_GPU_LAYOUT_KNOWN);
  }
}

void pp_cupti_learn_layouts(const pp_cupti_complete_info* info) {
  if (!info || info->size < sizeof *info || !info->layouts) return;
  pp_gpu_begin_use();
  for (unsigned row = 0; pp_gpu_may_use_memory() && row < PP_GPU_LAYOUTS; ++row) {
    const pp_gpu_fields* asked = &pp_gpu_boot_block.fields[row];
    if (!asked->kind || asked->kind >= PP_GPU_KINDS || asked->count > PP_GPU_LAYOUT_FIELDS) break;
    if (asked->kind < info->count && info->layouts[asked->kind]) {
      learn(asked, info->layouts[asked->kind], &pp_gpu.arena->layouts[row]);
    }
  }
  pp_gpu_end_use();
}

int pp_cupti_lacks_layouts(void) {
  return __atomic_load_n(&pp_gpu.arena->completed, __ATOMIC_ACQUIRE) > 0 &&
         __atomic_load_n(&pp_gpu.arena->layouts_told, __ATOMIC_ACQUIRE) == 0;
}
