// CUPTI's callbacks: requests for a buffer, returns of a buffer, reports of a call or of its own state. Each gets a
// line when it begins and one when it ends. A buffer's bytes are written before the client gets them, as it may change
// them.
#include <stdatomic.h>

#include "tests/transcripts/recorder.h"
#include "tests/transcripts/recorder_line.h"
#include "tests/transcripts/recorder_names.h"

enum { kClients = 64, kChunk = 1024 };

static struct client clients[kClients];
static atomic_uint client_count;
static struct {
  pp_cupti_request request;
  pp_cupti_complete complete;
} registrants[kRegistrants];
static atomic_uint registrant_count;

struct client* client_of(pp_cupti_callback callback, void* user) {
  const unsigned number = atomic_fetch_add(&client_count, 1);
  struct client* client = &clients[number < kClients ? number : kClients - 1];
  *client = (struct client){callback, user};
  return client;
}

static void report_of_call(struct line* line, uint32_t domain, const pp_cupti_call_data* call) {
  if (domain != PP_CUPTI_DOMAIN_DRIVER && domain != PP_CUPTI_DOMAIN_RUNTIME) return;
  line_number(line, "site", call->site);
  line_text(line, "function", call->function);
  line_number(line, "correlation", call->correlation);
  line_number(line, "has_symbol", call->symbol != 0);
  if (call->site == PP_CUPTI_API_EXIT && call->result) line_result(line, "result", *call->result);
}

void on_callback(void* client, uint32_t domain, uint32_t callback, const void* data) {
  const struct client* to = client;
  struct line line;
  line_begin(&line, "callback");
  line_number(&line, "domain", domain);
  line_number(&line, "callback", callback);
  if (data) report_of_call(&line, domain, data);
  if (data && domain == PP_CUPTI_DOMAIN_STATE) line_number(&line, "said", *(const uint32_t*)data);
  line_end(&line);
  to->callback(to->user, domain, callback, data);
  line_begin(&line, "called back");
  line_number(&line, "domain", domain);
  line_number(&line, "callback", callback);
  line_end(&line);
}

static void on_request(uint32_t registrant, uint8_t** buffer, size_t* size, size_t* records) {
  struct line line;
  line_begin(&line, "request");
  line_name(&line, "of", "registrant", registrant);
  line_end(&line);
  registrants[registrant - 1].request(buffer, size, records);
  line_begin(&line, "requested");
  line_name(&line, "buffer", "buffer", buffer_named(*buffer));
  line_number(&line, "size", *size);
  line_number(&line, "records", *records);
  line_end(&line);
}

static void report_bytes(uint32_t number, const uint8_t* buffer, size_t valid) {
  for (size_t at = 0; at < valid; at += kChunk) {
    struct line line;
    line_begin(&line, "bytes");
    line_name(&line, "buffer", "buffer", number);
    line_number(&line, "at", at);
    line_bytes(&line, "hex", buffer + at, (uint32_t)(valid - at < kChunk ? valid - at : kChunk));
    line_end(&line);
  }
}

static void on_complete(uint32_t registrant, void* context, uint32_t stream, uint8_t* buffer, size_t size,
                        size_t valid) {
  const uint32_t number = buffer_of(buffer);
  struct line line;
  line_begin(&line, "complete");
  line_name(&line, "to", "registrant", registrant);
  line_name(&line, "buffer", "buffer", number);
  line_number(&line, "size", size);
  line_number(&line, "valid", valid);
  line_number(&line, "has_context", context != 0);
  line_number(&line, "stream", stream);
  line_end(&line);
  if (buffer) report_bytes(number, buffer, valid);
  registrants[registrant - 1].complete(context, stream, buffer, size, valid);
  line_begin(&line, "completed");
  line_name(&line, "buffer", "buffer", number);
  line_end(&line);
}

// These functions get no argument that identifies the registrant, so each registrant has its own.
#define FOR_EACH_REGISTRANT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DEFINE(number)                                                                                        \
  static void request_##number(uint8_t** buffer, size_t* size, size_t* records) {                             \
    on_request(number, buffer, size, records);                                                                \
  }                                                                                                           \
  static void complete_##number(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) { \
    on_complete(number, context, stream, buffer, size, valid);                                                \
  }
FOR_EACH_REGISTRANT(DEFINE)
#define REQUEST(number) request_##number,
#define COMPLETE(number) complete_##number,
static const pp_cupti_request requests[kRegistrants] = {FOR_EACH_REGISTRANT(REQUEST)};
static const pp_cupti_complete completes[kRegistrants] = {FOR_EACH_REGISTRANT(COMPLETE)};

uint32_t registrant_of(pp_cupti_request request, pp_cupti_complete complete) {
  const unsigned count = atomic_fetch_add(&registrant_count, 1);
  const unsigned index = count < kRegistrants ? count : kRegistrants - 1;
  registrants[index].request = request;
  registrants[index].complete = complete;
  return index + 1;
}

pp_cupti_request request_of(uint32_t registrant) { return requests[registrant - 1]; }
pp_cupti_complete complete_of(uint32_t registrant) { return completes[registrant - 1]; }

RECORDER_EXPORT void recorder_mark(const char* text) {
  struct line line;
  line_begin(&line, "mark");
  line_text(&line, "text", text);
  line_end(&line);
}
