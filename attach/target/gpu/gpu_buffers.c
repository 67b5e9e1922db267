// Slots of the arena as buffers of the vendor's library. Any thread: no lock, no allocation, no system call.
#include "attach/target/gpu/gpu_shim.h"

static uint32_t spare_used[PP_GPU_SPARES];

static void count(uint64_t* counter, uint64_t by) { __atomic_add_fetch(counter, by, __ATOMIC_RELAXED); }

static int change(uint32_t* word, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// All of this has left the caches by the time a buffer is full. Prefetching makes the cache misses overlap. An invalid
// address is ignored.
static void fetch(const void* slot) {
  enum { FOR_WRITING = 1 };
  __builtin_prefetch(slot, FOR_WRITING);
  __builtin_prefetch(&pp_gpu.arena->handed_out, FOR_WRITING);
  __builtin_prefetch(pp_gpu.private_page);
}

// Takes the lowest free one: slots that were used before are in the caches.
static uint8_t* claim_slot(void) {
  for (uint64_t i = 0; i < pp_gpu.slot_count; ++i) {
    uint32_t* state = &pp_gpu.slots[i].state;
    if (__atomic_load_n(state, __ATOMIC_RELAXED) == PP_GPU_SLOT_FREE &&
        change(state, PP_GPU_SLOT_FREE, PP_GPU_SLOT_HELD)) {
      return pp_gpu.buffers + i * pp_gpu.slot_bytes;
    }
  }
  return 0;
}

// If all are taken, several users share the last one: its content is thrown away anyway.
static uint8_t* claim_spare(void) {
  if (!pp_gpu.spares) return 0;
  uint64_t i = 0;
  while (i < PP_GPU_SPARES - 1 && !change(&spare_used[i], 0, 1)) ++i;
  return pp_gpu.spares + i * PP_GPU_SPARE_BYTES;
}

uint8_t* pp_gpu_take_buffer(uint64_t* size) {
  fetch(pp_gpu.slots);
  pp_gpu_begin_use();
  uint8_t* buffer = 0;
  const int shared = pp_gpu_may_use_memory();
  if (shared) buffer = claim_slot();
  *size = pp_gpu.slot_bytes;
  if (shared && buffer) count(&pp_gpu.arena->handed_out, 1);
  if (!buffer && pp_gpu.must_give) {
    buffer = claim_spare();
    *size = PP_GPU_SPARE_BYTES;
    if (shared) count(&pp_gpu.arena->discarded, 1);
  } else if (!buffer) {
    *size = 0;
    if (shared) count(&pp_gpu.arena->declined, 1);
  }
  pp_gpu_end_use();
  return buffer;
}

static void give_slot(uint64_t index, uint64_t valid) {
  pp_gpu_slot* slot = &pp_gpu.slots[index];
  if (__atomic_load_n(&slot->state, __ATOMIC_RELAXED) != PP_GPU_SLOT_HELD) return;
  slot->valid = valid < pp_gpu.slot_bytes ? valid : pp_gpu.slot_bytes;
  slot->realtime = pp_gpu_now(PP_REALTIME);
  slot->monotonic = pp_gpu_now(PP_MONOTONIC);
  count(&pp_gpu.arena->valid_bytes, slot->valid);
  slot->sequence = __atomic_add_fetch(&pp_gpu.arena->completed, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->state, PP_GPU_SLOT_FULL, __ATOMIC_RELEASE);
}

static void give_spare(uint64_t index, uint64_t valid) {
  uint8_t* spare = pp_gpu.spares + index * PP_GPU_SPARE_BYTES;
  for (uint64_t i = 0; i < valid && i < PP_GPU_SPARE_BYTES; ++i) spare[i] = 0;
  __atomic_store_n(&spare_used[index], 0, __ATOMIC_RELEASE);
}

void pp_gpu_give_buffer(uint8_t* buffer, uint64_t valid) {
  const uint64_t slot_bytes = pp_gpu.slot_bytes;
  fetch(slot_bytes ? pp_gpu.slots + (uint64_t)(buffer - pp_gpu.buffers) / slot_bytes : 0);
  pp_gpu_begin_use();
  const uint64_t spare = (uint64_t)(buffer - pp_gpu.spares);
  if (pp_gpu.spares && spare < (uint64_t)PP_GPU_SPARES * PP_GPU_SPARE_BYTES) {
    give_spare(spare / PP_GPU_SPARE_BYTES, valid);
  } else if (pp_gpu_may_use_memory()) {
    const uint64_t at = (uint64_t)(buffer - pp_gpu.buffers);  // beyond all slots: of an earlier capture
    if (at < pp_gpu.slot_count * pp_gpu.slot_bytes) give_slot(at / pp_gpu.slot_bytes, valid);
  }
  pp_gpu_end_use();
}
