// The way of an event through the stub, without an interpreter: one thread with one frame, in memory that a test
// shares.
#pragma once

#include <stdint.h>

#include "attach/abi/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of the private tables and of the channel; both must be zero.
uint64_t event_target_tables_size(void);
uint64_t event_target_channel_size(void);
void event_target_prepare(void* tables, void* channel);
// The frame that the thread executes.
void event_target_enter_frame(uint64_t frame);
// What a callback does with an event of that frame.
void event_target_event(unsigned tag);

#ifdef __cplusplus
}
#endif
