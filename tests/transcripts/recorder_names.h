// Names for things that have only an address: threads, buffers, subscribers. They are numbered in the order in which
// they appear, so that two runs of a scenario have the same names. Any thread, no lock.
#ifndef TESTS_TRANSCRIPTS_RECORDER_NAMES_H
#define TESTS_TRANSCRIPTS_RECORDER_NAMES_H

#include <stdint.h>

// The name of this thread, from its first event on: the one that it gave itself, else "control#N" if that event is a
// call of CUPTI's, and "worker#N" if it is a callback of CUPTI's.
const char* thread_name(const char* event);

// A buffer that the client hands out gets a new number, whatever its address was before.
uint32_t buffer_named(const void* address);
uint32_t buffer_of(const void* address);      // 0: none of these
uint32_t subscriber_of(const void* address);  // a new number for a new address; 0 for NULL

#endif
