// Names for what has only an address: threads, buffers, subscribers. They are numbered in the order in which they come,
// so that two runs of a scenario have the same ones. Any thread, no lock.
#ifndef TESTS_TRANSCRIPTS_RECORDER_NAMES_H
#define TESTS_TRANSCRIPTS_RECORDER_NAMES_H

#include <stdint.h>

// Of this thread. It has one from its first event on: that which it gave itself, else "control#N" where it makes a call
// of CUPTI's, and "worker#N" where CUPTI calls back on it.
const char* thread_name(const char* event);

// A buffer that the client hands out has a new number, whatever its address was before.
uint32_t buffer_named(const void* address);
uint32_t buffer_of(const void* address);      // 0: none of these
uint32_t subscriber_of(const void* address);  // a new number for a new address; 0 for NULL

#endif
