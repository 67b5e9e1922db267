// The ring of a thread: finding it by PyTorch's number of the thread, and making room in it. System calls are allowed
// here; locks and allocations are not.
#include "attach/target/torch/torch_hook.h"

enum { PP_PROBES = 16, PP_NO_SUCH_PROCESS = -3, PP_GAP_RECORDS = 2 };

uint64_t pp_torch_nanoseconds(void) {
  struct {
    int64_t seconds, nanoseconds;
  } time = {0, 0};
  PP_TORCH_FUNCTION(int (*)(int, void*), clock_gettime)(1 /* CLOCK_MONOTONIC */, &time);
  return (uint64_t)time.seconds * 1000000000ull + (uint64_t)time.nanoseconds;
}

static pp_ring* ring_at(uint32_t index) {
  return (pp_ring*)((char*)pp_torch_self.arena + PP_RING_OFFSET((uint64_t)index));
}

static pp_torch_slot* slot_at(uint64_t place) {
  return &pp_torch_self.tables->slots[place & (PP_TORCH_SLOTS - 1)];
}

// Marks the ring as ended, and forgets its thread, if that thread is gone.
static void sweep(uint32_t index) {
  pp_ring* ring = ring_at(index);
  int32_t tid = __atomic_load_n(&pp_torch_self.tables->ring_tids[index], __ATOMIC_ACQUIRE);
  if (!tid || __atomic_load_n(&ring->state, __ATOMIC_RELAXED) != PP_RING_LIVE) return;
  if (pp_system_call(PP_SYS_tgkill, (uint64_t)pp_torch_boot_block.target_pid, (uint64_t)tid, 0, 0, 0, 0) !=
      PP_NO_SUCH_PROCESS) {
    return;
  }
  const uint64_t thread = ring->thread_state;
  if (!__atomic_compare_exchange_n(&pp_torch_self.tables->ring_tids[index], &tid, 0, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  for (uint64_t i = 0; i < PP_PROBES; ++i) {
    pp_torch_slot* slot = slot_at(thread + i);
    uint64_t expected = thread;
    if (__atomic_compare_exchange_n(&slot->thread, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) break;
  }
  __atomic_store_n(&ring->state, PP_RING_ENDED, __ATOMIC_RELEASE);
}

static void begin_ring(pp_ring* ring, int32_t tid, uint64_t thread) {
  ring->full_at = ring->head;
  ring->lost = ring->lost_since = ring->lost_total = ring->last_time = 0;
  ring->tid = tid;
  ring->thread_state = thread;
  __atomic_store_n(&ring->state, PP_RING_LIVE, __ATOMIC_RELEASE);
}

// Returns its number + 1; 0: none is free.
static uint32_t take_ring(uint64_t thread) {
  const int32_t tid = (int32_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0);
  for (uint32_t i = 0; i < pp_torch_self.rings; ++i) {
    pp_ring* ring = ring_at(i);
    if (__atomic_load_n(&pp_torch_self.tables->ring_tids[i], __ATOMIC_RELAXED) != 0) continue;
    uint32_t state = PP_RING_FREE;
    if (!__atomic_compare_exchange_n(&ring->state, &state, PP_RING_CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      continue;
    }
    begin_ring(ring, tid, thread);
    __atomic_store_n(&pp_torch_self.tables->ring_tids[i], tid, __ATOMIC_RELEASE);
    return i + 1;
  }
  for (uint32_t i = 0; i < pp_torch_self.rings; ++i) sweep(i);  // room for the next one that asks
  return 0;
}

static pp_torch_slot* take_slot(uint64_t thread) {
  for (uint64_t i = 0; i < PP_PROBES; ++i) {
    pp_torch_slot* slot = slot_at(thread + i);
    uint64_t free = 0;
    if (__atomic_compare_exchange_n(&slot->thread, &free, thread, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      slot->ring = 0;
      return slot;
    }
  }
  return 0;
}

pp_ring* pp_torch_find_ring(uint64_t thread) {
  pp_torch_slot* slot = 0;
  for (uint64_t i = 0; i < PP_PROBES && !slot; ++i) {
    pp_torch_slot* one = slot_at(thread + i);
    if (__atomic_load_n(&one->thread, __ATOMIC_RELAXED) == thread) slot = one;
  }
  if (!slot) slot = take_slot(thread);
  if (!slot) return 0;
  uint32_t number = __atomic_load_n(&slot->ring, __ATOMIC_RELAXED);
  if (!number) {
    number = take_ring(thread);
    __atomic_store_n(&slot->ring, number, __ATOMIC_RELAXED);
  }
  return number ? ring_at(number - 1) : 0;
}

int pp_torch_make_room(pp_ring* ring, uint64_t now, uint64_t count) {
  const uint64_t size = pp_torch_self.record_mask + 1;
  const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
  // Once full, an eighth must be free before recording continues: few long gaps are better than many short ones.
  const uint64_t needed = count + PP_GAP_RECORDS + (ring->lost ? size / 8 : 0);
  if (ring->head - tail > size || needed > size - (ring->head - tail)) {
    if (!ring->lost) ring->lost_since = now;
    ring->lost_total++;
    ring->full_at = ring->head;
    __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELEASE);
    return 0;
  }
  if (ring->lost) {
    const uint64_t head = ring->head;
    *pp_torch_record(ring, head) = (pp_record){PP_WHEN_TAG(ring->lost_since, PP_TAG_LOST), ring->lost};
    *pp_torch_record(ring, head + 1) = (pp_record){PP_WHEN_TAG(now, PP_TAG_LOST_END), 0};
    __atomic_store_n(&ring->head, head + PP_GAP_RECORDS, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->lost, 0, __ATOMIC_RELEASE);
  }
  ring->full_at = tail + size - PP_GAP_RECORDS;
  return 1;
}
