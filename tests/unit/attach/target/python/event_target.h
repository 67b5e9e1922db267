// The path of an event through the stub, without an interpreter: one thread with one frame, in memory that a test
// shares.
#pragma once

#include <stdint.h>

#include "attach/abi/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of the private tables and of the channel. Both must be zeroed.
uint64_t event_target_tables_size(void);
uint64_t event_target_channel_size(void);
void event_target_prepare(void* tables, void* channel);
// Sets the frame that the thread executes.
void event_target_enter_frame(uint64_t frame);
// Whether its code is a generator's, for which each event writes two records.
void event_target_be_generator(int is_generator);
// Does what a callback does with an event of that frame.
void event_target_event(unsigned tag);
// Writes an extended record, as code does whose data does not fit into one record.
void event_target_extended(uint64_t what, const pp_unit* payload);
uint64_t event_target_records(void);  // of the ring
void event_target_set_records(uint64_t count);
// As if another thread had used its thread state: its next event looks for its ring anew.
void event_target_forget_thread(void);
// The number of events until the thread sees that the ring is full.
uint64_t event_target_events_that_fit(void);
// How long the thread may wait for room, in ticks.
void event_target_let_wait(uint64_t ticks);

#ifdef __cplusplus
}
#endif
