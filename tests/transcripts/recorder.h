// A libcupti that passes every call on to another one and records the call, its result, and that library's callbacks:
// for transcripts of the real library (README.md). It has the name of the real one. The path of the real one and the
// file for the lines are in the environment (PP_CUPTI_BEHIND, PP_CUPTI_TRANSCRIPT).
#ifndef TESTS_TRANSCRIPTS_RECORDER_H
#define TESTS_TRANSCRIPTS_RECORDER_H

#include "attach/target/gpu/cupti_library.h"

#define RECORDER_EXPORT __attribute__((visibility("default")))

enum { kNotThere = -2 };  // the library behind has no such function; not a result of CUPTI's

// A function of the library behind; NULL: it has none. Before any call.
void* recorder_behind(const char* function);

// recorder_callbacks.c. What the library behind gets instead of a client's functions.
struct client {
  pp_cupti_callback callback;
  void* user;
};
struct client* client_of(pp_cupti_callback callback, void* user);
void on_callback(void* client, uint32_t domain, uint32_t callback, const void* data);
// The functions for the next client that registers. There are `kRegistrants`; all later clients share the last.
enum { kRegistrants = 8 };
uint32_t registrant_of(pp_cupti_request request, pp_cupti_complete complete);  // its number, from 1 on
pp_cupti_request request_of(uint32_t registrant);
pp_cupti_complete complete_of(uint32_t registrant);

// Called by the job: the name of the calling thread, and what the job does now.
RECORDER_EXPORT void recorder_thread(const char* name);
RECORDER_EXPORT void recorder_mark(const char* text);

#endif
