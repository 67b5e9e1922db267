// The rare cases of writing to a ring: see ring.h. System calls are allowed here; locks and allocations are not.
#include "attach/target/python/ring.h"

#include "attach/target/python/leave.h"

enum { PP_PROBES = 16, PP_KEY_NONE = 0, PP_KEY_USED = 1, PP_SWEPT_AT_ONCE = 4, PP_WAITED = 16 };
enum { PP_FUTEX_WAIT = 0, PP_INTERRUPTED = -4, PP_TRY_AGAIN = -11, PP_TIMED_OUT = -110 };
enum { PP_LOOK_AFTER_NS = 200000, PP_FREE_AT_ONCE = 4096 };  // for a thread that waits for room
enum { PP_NO_SUCH_PROCESS = -3, PP_MADV_POPULATE_WRITE = 23 };

static void count_without_ring(uint64_t events) {
  __atomic_fetch_add(&pp_self.channel->events_without_ring, events, __ATOMIC_RELAXED);
}

void pp_count_without_ring(void) { count_without_ring(1); }

static pp_slot* slot_at(uint64_t place) { return &pp_self.tables->slots[place & ((1u << PP_SLOT_BITS) - 1)]; }

static void drop_key(pp_slot* slot) { __atomic_store_n(&slot->thread_state, PP_KEY_USED, __ATOMIC_RELEASE); }

static pp_slot* probe(pp_address key) {
  for (uint64_t i = 0; i < PP_PROBES; ++i) {
    pp_slot* slot = slot_at(pp_hash(key) + i);
    if (__atomic_load_n(&slot->thread_state, __ATOMIC_ACQUIRE) == key) return slot;
  }
  return 0;
}

void pp_forget_thread(pp_address thread) {
  pp_slot* slot = probe(thread);
  if (slot) drop_key(slot);
}

// Takes a free entry for `thread`, with a key that no lookup matches yet.
static pp_slot* take_slot(pp_address thread) {
  for (uint64_t i = 0; i < PP_PROBES; ++i) {
    pp_slot* slot = slot_at(pp_hash(thread) + i);
    uint64_t key = __atomic_load_n(&slot->thread_state, __ATOMIC_RELAXED);
    if (key > PP_KEY_USED) continue;
    if (__atomic_compare_exchange_n(&slot->thread_state, &key, ~0ull, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return slot;
  }
  return 0;
}

// Marks the ring as ended if its thread is gone.
static void sweep(uint32_t index) {
  pp_ring* ring = (pp_ring*)((char*)pp_self.channel + PP_RING_OFFSET(index));
  const int32_t tid = __atomic_load_n(&pp_self.tables->ring_tids[index], __ATOMIC_ACQUIRE);
  if (!tid || __atomic_load_n(&ring->state, __ATOMIC_RELAXED) != PP_RING_LIVE) return;
  if (pp_system_call(PP_SYS_tgkill, (uint64_t)pp_boot_block.target_pid, (uint64_t)tid, 0, 0, 0, 0) !=
      PP_NO_SUCH_PROCESS) {
    return;
  }
  int32_t expected = tid;
  if (!__atomic_compare_exchange_n(&pp_self.tables->ring_tids[index], &expected, 0, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return;
  pp_slot* slot = pp_self.tables->ring_slots[index];
  if (slot && slot->ring_index == index) drop_key(slot);
  __atomic_store_n(&ring->state, PP_RING_ENDED, __ATOMIC_RELEASE);
}

static void sweep_some(uint32_t count) {
  const uint32_t rings = pp_boot_block.ring_count;
  for (uint32_t i = 0; i < count && i < rings; ++i) {
    sweep(__atomic_fetch_add(&pp_self.sweep, 1, __ATOMIC_RELAXED) % rings);
  }
}

// Makes the ring look full, so that the first record goes through pp_make_room.
static void begin_ring(pp_ring* ring, int32_t tid) {
  ring->full_at = ring->head;
  ring->lost = ring->lost_since = ring->lost_total = ring->last_unarmed = ring->last_time = 0;
  ring->lost_net = ring->lost_lowest = 0;
  ring->first_frame = 0;
  ring->tid = tid;
}

void pp_empty_ring(pp_ring* ring) {
  ring->head = 0;
  begin_ring(ring, ring->tid);
}

// The ring of the thread `tid`, with any thread state; else a free one; else PP_NO_RING.
static uint32_t take_ring(int32_t tid) {
  const uint32_t rings = pp_boot_block.ring_count;
  for (uint32_t i = 0; i < rings; ++i) {
    if (__atomic_load_n(&pp_self.tables->ring_tids[i], __ATOMIC_RELAXED) == tid) return i;
  }
  for (uint32_t i = 0; i < rings; ++i) {
    if (__atomic_load_n(&pp_self.tables->ring_tids[i], __ATOMIC_RELAXED) != 0) continue;
    pp_ring* ring = (pp_ring*)((char*)pp_self.channel + PP_RING_OFFSET(i));
    uint32_t state = PP_RING_FREE;
    if (!__atomic_compare_exchange_n(&ring->state, &state, PP_RING_CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    begin_ring(ring, tid);
    __atomic_store_n(&pp_self.tables->ring_tids[i], tid, __ATOMIC_RELEASE);
    return i;
  }
  return PP_NO_RING;
}

static void name_thread(pp_slot* slot, pp_address thread, int32_t tid) {
  slot->tid = tid;
  slot->native_id = PP_HAS_FIELD(thread_native_id) ? PP_FIELD(int32_t, thread, thread_native_id) : 0;
}

// Makes `slot` refer to the ring of `index`, and publishes it.
static void bind(pp_slot* slot, pp_address thread, int32_t tid, uint32_t index) {
  pp_slot* before = pp_self.tables->ring_slots[index];
  if (before && before != slot && before->ring_index == index) drop_key(before);  // of another thread state of this
                                                                                  // thread
  pp_self.tables->ring_slots[index] = slot;
  name_thread(slot, thread, tid);
  slot->root = slot->top = 0;
  slot->ring_index = index;
  slot->ring = (pp_ring*)((char*)pp_self.channel + PP_RING_OFFSET(index));
  slot->owned = pp_self.tables->owned[index];
  slot->ring->full_at = slot->ring->head;  // find_room sets where its records go
  slot->ring->thread_state = thread;
  __atomic_store_n(&slot->ring->state, PP_RING_LIVE, __ATOMIC_RELEASE);
  __atomic_store_n(&slot->thread_state, thread, __ATOMIC_RELEASE);
}

// Counts the thread's events until a ring is free.
static void bind_waiting(pp_slot* slot, pp_address thread, int32_t tid) {
  pp_ring* ring = &pp_self.tables->waiting[slot - pp_self.tables->slots];
  ring->head = 0;
  begin_ring(ring, tid);
  name_thread(slot, thread, tid);
  slot->root = slot->top = 0;
  slot->ring_index = PP_NO_RING;
  slot->ring = ring;
  __atomic_store_n(&slot->thread_state, thread, __ATOMIC_RELEASE);
}

pp_slot* pp_find_slot_slowly(pp_address thread) {
  pp_slot* slot = probe(thread);
  if (slot && pp_is_same_thread(slot, thread)) return slot;
  if (slot) drop_key(slot);  // it belonged to another thread with this thread state, which is gone
  slot = take_slot(thread);
  if (!slot) return 0;
  const int32_t tid = (int32_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0);
  sweep_some(PP_SWEPT_AT_ONCE);
  const uint32_t index = take_ring(tid);
  if (index == PP_NO_RING) {
    bind_waiting(slot, thread, tid);
  } else {
    bind(slot, thread, tid, index);
  }
  return slot;
}

static int32_t depth_change(unsigned tag) {
  return (int32_t)PP_TAG_IS(tag, PP_BEGINS) - (int32_t)PP_TAG_IS(tag, PP_ENDS);
}

static uint64_t lose(pp_ring* ring, uint64_t now, unsigned tag) {
  if (!ring->lost) {
    ring->lost_since = now;
    ring->lost_net = ring->lost_lowest = 0;
  }
  ring->lost_net += depth_change(tag);
  if (ring->lost_net < ring->lost_lowest) ring->lost_lowest = ring->lost_net;
  ring->lost_total++;
  ring->full_at = ring->head;  // a shorter event would fit, but the gap must be recorded first
  __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELEASE);
  return 0;
}

void pp_set_ring_size(uint64_t records) {
  const uint64_t size = PP_CHUNK_RECORDS(records);
  pp_self.record_mask = size - 1;
  pp_self.chunks = records / size;
  pp_self.room = records - PP_GROUP_RECORDS;
}

static uint64_t chunk_size(void) { return pp_self.record_mask + 1; }
static uint64_t an_eighth(void) { return pp_self.chunks * chunk_size() / 8; }

// The next records go into this chunk. Its pages are mapped at once: page faults would cost the first events some 10 ns
// each. This happens only once something is recorded: until it arms, the collector may be about to touch the pages, so
// that they are charged to it. Chunks come into use in order.
static void go_to_chunk(pp_slot* slot, uint64_t chunk) {
  const uint64_t records = PP_RECORDS_OFFSET(pp_boot_block.ring_count, pp_boot_block.ring_records, slot->ring_index);
  slot->records = (pp_record*)((char*)pp_self.channel + records) + chunk * chunk_size();
  uint16_t* mapped = &pp_self.tables->ring_mapped[slot->ring_index];
  if (*mapped > chunk) return;
  *mapped = (uint16_t)(chunk + 1);
  pp_system_call(PP_SYS_madvise, (uint64_t)slot->records, chunk_size() * sizeof(pp_record), PP_MADV_POPULATE_WRITE, 0,
                 0,
                 0);  // fails before Linux 5.14: then page faults map them
}

static pp_lap* lap_at(const pp_ring* ring, uint64_t index) {
  return (pp_lap*)((char*)ring + PP_LAPS_AT) + index / chunk_size() % pp_self.chunks;
}

// The first chunk without unread records; pp_self.chunks: there is none.
static uint64_t free_chunk(const pp_ring* ring, uint64_t tail) {
  uint64_t used[PP_MAX_CHUNKS / 64] = {0};
  for (uint64_t index = tail & ~pp_self.record_mask; tail != ring->head && index < ring->head; index += chunk_size()) {
    const uint64_t chunk = PP_LAP_CHUNK(*lap_at(ring, index)) % PP_MAX_CHUNKS;
    used[chunk / 64] |= 1ull << chunk % 64;
  }
  uint64_t chunk = 0;
  while (chunk < pp_self.chunks && used[chunk / 64] >> chunk % 64 & 1) ++chunk;
  return chunk;
}

// Prepares the ring for an event with `more` additional records, and a gap before it. Returns whether there is room.
static int find_room(pp_slot* slot, uint64_t tail, uint64_t more) {
  pp_ring* ring = slot->ring;
  if (ring->head - tail > pp_self.room - more) return 0;
  if (pp_self.chunks == 1) {
    go_to_chunk(slot, 0);
    ring->full_at = tail + pp_self.room + 1;
    return 1;
  }
  const uint64_t used = ring->head & pp_self.record_mask, left = chunk_size() - used;
  if (used && left >= PP_GROUP_RECORDS + more) {  // the space belonged to another thread
    go_to_chunk(slot, PP_LAP_CHUNK(*lap_at(ring, ring->head)) % pp_self.chunks);
  } else {
    const uint64_t chunk = free_chunk(ring, tail);
    if (chunk == pp_self.chunks) return 0;
    const uint64_t next = used ? ring->head + left : ring->head;
    if (used) *lap_at(ring, ring->head) |= PP_LAP(0, left);
    *lap_at(ring, next) = PP_LAP(chunk, 0);
    go_to_chunk(slot, chunk);
    pp_publish(ring, next);
  }
  ring->full_at = (ring->head | pp_self.record_mask) + 2 - PP_GROUP_RECORDS;
  return 1;
}

// Writes a gap of `lost` events; with 0, the thread waited meanwhile.
static void write_gap(pp_slot* slot, uint64_t since, uint64_t now, uint64_t lost, uint64_t change) {
  const uint64_t head = slot->ring->head;
  pp_write(slot, head, since, PP_TAG_LOST, lost);
  pp_write(slot, head + 1, now, PP_TAG_LOST_END, change);
  pp_publish(slot->ring, head + PP_GAP_RECORDS);
}

// Sleeps until the collector may have made room. Returns whether sleeping is possible here.
static int sleep_a_little(const uint64_t* tail, uint64_t seen) {
  const int64_t time[2] = {0, PP_LOOK_AFTER_NS};
  const int64_t result =
      pp_system_call(PP_SYS_futex, (uint64_t)tail, PP_FUTEX_WAIT, (uint32_t)seen, (uint64_t)time, 0, 0);
  return result == 0 || result == PP_TIMED_OUT || result == PP_TRY_AGAIN || result == PP_INTERRUPTED;
}

// Waits until the collector has read some of the thread's ring, while the thread keeps the GIL. The wait ends at the
// latest after pp_boot.longest_hold (events are then lost as without waiting, until there is room again), or at once if
// nothing is to be recorded any more, or if the collector's lease is over. A signal handler that runs meanwhile may
// fork: in that child we touch nothing.
static uint64_t wait_for_room(pp_slot* slot, uint64_t since, unsigned tag, uint64_t more) {
  pp_ring* ring = slot->ring;
  const pp_private* page = &pp_self.tables->page;
  uint64_t free = an_eighth() < PP_FREE_AT_ONCE ? an_eighth() : PP_FREE_AT_ONCE;
  if (free < more) free = more;
  if (pp_self.chunks > 1) free = 2 * chunk_size();  // so that one whole chunk is free
  uint64_t now = since, tail;
  __atomic_store_n(&ring->holds, ring->holds + 1, __ATOMIC_RELEASE);
  const uint64_t held_before = ring->held_time;
  while (ring->head - (tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) > pp_self.room - free) {
    const int can_sleep = sleep_a_little(&ring->tail, tail);
    if (__atomic_load_n(&page->magic, __ATOMIC_RELAXED) != PP_PRIVATE_MAGIC) return 0;
    const uint64_t time = pp_now();
    if (time > now) now = time;
    __atomic_store_n(&ring->held_time, held_before + (now - since), __ATOMIC_RELAXED);
    if (__atomic_load_n(&page->armed, __ATOMIC_RELAXED) != 1) return 0;
    if (now > __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED)) {
      pp_leave_as_told();
      return 0;
    }
    if (!can_sleep || now - since >= pp_self.longest_hold) return lose(ring, since, tag);
  }
  if (!find_room(slot, tail, more)) return lose(ring, since, tag);
  write_gap(slot, since, now, 0, PP_GAP(0, 0));
  return now;
}

// A thread without a ring looks for one now and then. Its lost events until then become a gap in that ring.
static int await_ring(pp_slot* slot, uint64_t now, unsigned tag) {
  pp_ring* waiting = slot->ring;
  uint32_t index = PP_NO_RING;
  if (waiting->lost % PP_WAITED == 0) {
    sweep_some(PP_SWEPT_AT_ONCE);
    index = take_ring(slot->tid);
  }
  if (index == PP_NO_RING) {
    count_without_ring(1);
    return lose(waiting, now, tag);
  }
  bind(slot, slot->thread_state, slot->tid, index);
  pp_ring* ring = slot->ring;
  ring->lost_since = waiting->lost_since;
  ring->lost_net = waiting->lost_net;
  ring->lost_lowest = waiting->lost_lowest;
  ring->lost_total = waiting->lost_total;
  ring->last_time = now;
  __atomic_store_n(&ring->lost, waiting->lost, __ATOMIC_RELEASE);
  count_without_ring(0 - waiting->lost);
  return 1;
}

uint64_t pp_make_room_for(pp_slot* slot, uint64_t now, unsigned tag, uint64_t more) {
  if (slot->ring_index == PP_NO_RING && !await_ring(slot, now, tag)) return 0;
  pp_ring* ring = slot->ring;
  const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
  // Once full, an eighth must be free before recording continues: few long gaps are better than many short ones. Until
  // then full_at stays, so that the next event comes here, too.
  const uint64_t limit = ring->lost ? pp_self.room - an_eighth() : pp_self.room;
  if (ring->head - tail > limit || !find_room(slot, tail, more)) {
    return pp_self.longest_hold && !ring->lost ? wait_for_room(slot, now, tag, more) : lose(ring, now, tag);
  }
  if (!ring->first_frame) ring->first_frame = py_current_frame(slot->thread_state);
  if (ring->lost) {
    write_gap(slot, ring->lost_since, now, ring->lost, PP_GAP(ring->lost_net, ring->lost_lowest));
    __atomic_store_n(&ring->lost, 0, __ATOMIC_RELEASE);
  }
  return now;
}

uint64_t pp_make_room(pp_slot* slot, uint64_t now, unsigned tag) { return pp_make_room_for(slot, now, tag, 0); }
