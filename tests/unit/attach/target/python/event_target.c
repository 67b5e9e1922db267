#include "tests/unit/attach/target/python/event_target.h"

#include "attach/target/python/event.h"

static uint64_t records = 256;

static uint64_t thread_state[2];  // only the frame
static uint64_t code[2] = {2};    // its flags

static pp_address current_thread(void) { return (pp_address)thread_state; }

uint64_t event_target_tables_size(void) { return sizeof(pp_tables); }
uint64_t event_target_channel_size(void) { return PP_CHANNEL_SIZE(1, records, 0); }

void event_target_prepare(void* tables, void* channel) {
  pp_boot_block.functions[PP_FN_PyThreadState_GetUnchecked] = (uint64_t)&current_thread;
  for (unsigned i = 0; i < PP_OFF_CAPACITY; ++i) pp_boot_block.offsets[i] = PP_ABSENT;
  pp_boot_block.offsets[PP_OFF_thread_frame] = 0;
  pp_boot_block.offsets[PP_OFF_code_flags] = 0;
  pp_boot_block.ring_count = 1;
  pp_boot_block.ring_records = (uint32_t)records;
  pp_self.tables = tables;
  pp_self.channel = channel;
  pp_set_ring_size(records);
  pp_self.channel->lease = UINT64_MAX;
  pp_self.tables->page.magic = PP_PRIVATE_MAGIC;
  pp_self.private_page = &pp_self.tables->page;
}

uint64_t event_target_records(void) { return records; }

void event_target_set_records(uint64_t count) { records = count; }

void event_target_be_generator(int is_generator) { code[0] = is_generator ? 0x22 : 2; }

void event_target_forget_thread(void) { pp_forget_thread(py_thread_state()); }

uint64_t event_target_events_that_fit(void) {
  const pp_ring* ring = (pp_ring*)((char*)pp_self.channel + PP_RING_OFFSET(0));
  return pp_self.room + 1 - (ring->head - ring->tail);
}

void event_target_let_wait(uint64_t ticks) { pp_self.longest_hold = ticks; }

void event_target_enter_frame(uint64_t frame) { thread_state[0] = frame; }

void event_target_event(unsigned tag) {
  const pp_address thread = py_thread_state();
  const int is_plain = tag == PP_TAG_START || tag == PP_TAG_RETURN;
  if (is_plain && pp_frame_quickly(thread, tag, (pp_address)code)) return;
  if (pp_is_recording(thread, tag)) pp_frame_event(thread, tag, (pp_address)code);
}

void event_target_extended(uint64_t what, const pp_unit* payload) {
  const pp_address thread = py_thread_state();
  if (pp_is_recording(thread, PP_TAG_EXTENDED)) pp_record_extended(thread, what, payload);
}
