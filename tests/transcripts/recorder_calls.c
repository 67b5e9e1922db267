// The functions of CUPTI that the shim calls (attach/target/gpu/cupti_library.h), each with a line on entry and one on
// return. recorder.py removes the names of those that the library behind lacks before this library is loaded.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transcripts/recorder.h"
#include "tests/transcripts/recorder_line.h"
#include "tests/transcripts/recorder_names.h"

// Kinds of parameters: their type, and what is written about them on entry and on return.
#define TYPE_NUMBER uint32_t
#define IN_NUMBER(line, name, value) line_number(line, name, value)
#define OUT_NUMBER(line, name, value)
#define TYPE_SWITCH uint8_t
#define IN_SWITCH IN_NUMBER
#define OUT_SWITCH OUT_NUMBER
#define TYPE_SUBSCRIBER void*
#define IN_SUBSCRIBER(line, name, value) line_name(line, name, "subscriber", subscriber_of(value))
#define OUT_SUBSCRIBER(line, name, value)
#define TYPE_CONTEXT void*
#define IN_CONTEXT(line, name, value) line_number(line, name, (value) != 0)
#define OUT_CONTEXT(line, name, value)
#define TYPE_NUMBER_OUT uint32_t*
#define IN_NUMBER_OUT(line, name, value)
#define OUT_NUMBER_OUT(line, name, value) line_number(line, name, *(value))
#define TYPE_SIZE_OUT size_t*
#define IN_SIZE_OUT(line, name, value)
#define OUT_SIZE_OUT(line, name, value) line_number(line, name, *(value))
#define TYPE_TIME_OUT uint64_t*
#define IN_TIME_OUT(line, name, value)
#define OUT_TIME_OUT(line, name, value) line_number(line, name, *(value))

#define FOR_EACH_PLAIN_CALL(CALL1, CALL2, CALL3, CALL4)                                                    \
  CALL1(cuptiGetVersion, NUMBER_OUT, version)                                                              \
  CALL1(cuptiUnsubscribe, SUBSCRIBER, subscriber)                                                          \
  CALL4(cuptiEnableCallback, NUMBER, enable, SUBSCRIBER, subscriber, NUMBER, domain, NUMBER, callback)     \
  CALL3(cuptiEnableDomain, NUMBER, enable, SUBSCRIBER, subscriber, NUMBER, domain) /* of the other tool */ \
  CALL1(cuptiActivityEnable, NUMBER, kind)                                                                 \
  CALL1(cuptiActivityDisable, NUMBER, kind)                                                                \
  CALL1(cuptiActivityEnableAndDump, NUMBER, kind)                                                          \
  CALL1(cuptiActivityFlushAll, NUMBER, flag)                                                               \
  CALL3(cuptiActivityGetNumDroppedRecords, CONTEXT, context, NUMBER, stream, SIZE_OUT, dropped)            \
  CALL2(cuptiActivityEnableRuntimeApi, NUMBER, callback, SWITCH, enable)                                   \
  CALL2(cuptiActivityEnableDriverApi, NUMBER, callback, SWITCH, enable)                                    \
  CALL1(cuptiSetThreadIdType, NUMBER, type)                                                                \
  CALL1(cuptiGetTimestamp, TIME_OUT, time)

#define PARAMETER(kind, name) TYPE_##kind name
#define TELL_IN(kind, name) IN_##kind(&line, #name, name)
#define TELL_OUT(kind, name) OUT_##kind(&line, #name, name)

#define DEFINE(function, parameters, arguments, report_in, report_out)                  \
  static int(*behind_##function) parameters;                                        \
  RECORDER_EXPORT int function parameters {                                         \
    struct line line;                                                               \
    enter(&line, #function);                                                        \
    report_in;                                                                        \
    line_end(&line);                                                                \
    const int result = behind_##function ? behind_##function arguments : kNotThere; \
    leave(&line, #function, result);                                                \
    if (result == 0) {                                                              \
      report_out;                                                                     \
    }                                                                               \
    line_end(&line);                                                                \
    return result;                                                                  \
  }
#define DEFINE1(function, A, a) DEFINE(function, (PARAMETER(A, a)), (a), TELL_IN(A, a), TELL_OUT(A, a))
#define DEFINE2(function, A, a, B, b)                                                                        \
  DEFINE(function, (PARAMETER(A, a), PARAMETER(B, b)), (a, b), TELL_IN(A, a); TELL_IN(B, b), TELL_OUT(A, a); \
         TELL_OUT(B, b))
#define DEFINE3(function, A, a, B, b, C, c)                                                                      \
  DEFINE(function, (PARAMETER(A, a), PARAMETER(B, b), PARAMETER(C, c)), (a, b, c), TELL_IN(A, a); TELL_IN(B, b); \
         TELL_IN(C, c), TELL_OUT(A, a); TELL_OUT(B, b); TELL_OUT(C, c))
#define DEFINE4(function, A, a, B, b, C, c, D, d)                                                                     \
  DEFINE(function, (PARAMETER(A, a), PARAMETER(B, b), PARAMETER(C, c), PARAMETER(D, d)), (a, b, c, d), TELL_IN(A, a); \
         TELL_IN(B, b); TELL_IN(C, c); TELL_IN(D, d), TELL_OUT(A, a); TELL_OUT(B, b); TELL_OUT(C, c); TELL_OUT(D, d))

static void enter(struct line* line, const char* function) {
  line_begin(line, "enter");
  line_text(line, "call", function);
}

static void leave(struct line* line, const char* function, int result) {
  line_begin(line, "leave");
  line_text(line, "call", function);
  line_result(line, "result", result);
}

FOR_EACH_PLAIN_CALL(DEFINE1, DEFINE2, DEFINE3, DEFINE4)

static int (*behind_cuptiSubscribe)(void**, pp_cupti_callback, void*);
static int (*behind_cuptiSubscribe_v2)(void**, pp_cupti_callback, void*, pp_cupti_subscriber_params*);
static int (*behind_cuptiActivityRegisterCallbacks)(pp_cupti_request, pp_cupti_complete);
static int (*behind_cuptiActivityGetNextRecord)(uint8_t*, size_t, uint8_t**);
static int (*behind_cuptiActivitySetAttribute)(uint32_t, size_t*, void*);
static int (*behind_cuptiFinalize)(void);

RECORDER_EXPORT int cuptiSubscribe(void** subscriber, pp_cupti_callback callback, void* user) {
  struct line line;
  enter(&line, "cuptiSubscribe");
  line_end(&line);
  const int result = behind_cuptiSubscribe(subscriber, on_callback, client_of(callback, user));
  leave(&line, "cuptiSubscribe", result);
  if (result == 0) IN_SUBSCRIBER(&line, "subscriber", *subscriber);
  line_end(&line);
  return result;
}

RECORDER_EXPORT int cuptiSubscribe_v2(void** subscriber, pp_cupti_callback callback, void* user,
                                      pp_cupti_subscriber_params* params) {
  struct line line;
  enter(&line, "cuptiSubscribe_v2");
  line_number(&line, "size", params ? params->size : 0);
  line_text(&line, "name", params ? params->name : 0);
  line_end(&line);
  const int result = behind_cuptiSubscribe_v2
                         ? behind_cuptiSubscribe_v2(subscriber, on_callback, client_of(callback, user), params)
                         : kNotThere;
  leave(&line, "cuptiSubscribe_v2", result);
  if (result == 0) IN_SUBSCRIBER(&line, "subscriber", *subscriber);
  if (params && params->other_name) line_text(&line, "other", params->other_name);
  line_end(&line);
  return result;
}

RECORDER_EXPORT int cuptiActivityRegisterCallbacks(pp_cupti_request request, pp_cupti_complete complete) {
  const uint32_t registrant = registrant_of(request, complete);
  struct line line;
  enter(&line, "cuptiActivityRegisterCallbacks");
  line_name(&line, "registrant", "registrant", registrant);
  line_end(&line);
  const int result = behind_cuptiActivityRegisterCallbacks(request_of(registrant), complete_of(registrant));
  leave(&line, "cuptiActivityRegisterCallbacks", result);
  line_end(&line);
  return result;
}

// Writes not the address of a record but its place in the memory, and its kind.
RECORDER_EXPORT int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  struct line line;
  uint32_t kind = 0;
  if (buffer && valid >= sizeof kind) memcpy(&kind, buffer, sizeof kind);
  enter(&line, "cuptiActivityGetNextRecord");
  line_number(&line, "kind", kind);
  line_number(&line, "is_first", record && !*record);
  line_end(&line);
  const int result = behind_cuptiActivityGetNextRecord(buffer, valid, record);
  leave(&line, "cuptiActivityGetNextRecord", result);
  if (result == 0) line_number(&line, "at", (uint64_t)(*record - buffer));
  line_end(&line);
  return result;
}

RECORDER_EXPORT int cuptiActivitySetAttribute(uint32_t attribute, size_t* size, void* value) {
  struct line line;
  uint64_t wide = 0;
  if (size && value) memcpy(&wide, value, *size < sizeof wide ? *size : sizeof wide);
  enter(&line, "cuptiActivitySetAttribute");
  line_number(&line, "attribute", attribute);
  line_number(&line, "size", size ? *size : 0);
  line_number(&line, "value", wide);
  line_end(&line);
  const int result =
      behind_cuptiActivitySetAttribute ? behind_cuptiActivitySetAttribute(attribute, size, value) : kNotThere;
  leave(&line, "cuptiActivitySetAttribute", result);
  line_end(&line);
  return result;
}

RECORDER_EXPORT int cuptiFinalize(void) {
  struct line line;
  enter(&line, "cuptiFinalize");
  line_end(&line);
  const int result = behind_cuptiFinalize ? behind_cuptiFinalize() : kNotThere;
  leave(&line, "cuptiFinalize", result);
  line_end(&line);
  return result;
}

static const char* reported(const char* variable) {
  const char* text = getenv(variable);
  if (text) return text;
  fprintf(stderr, "the recorder of CUPTI is not told its %s\n", variable);
  abort();
}

__attribute__((constructor)) static void begin(void) {
  void* behind = dlopen(reported("PP_CUPTI_BEHIND"), RTLD_NOW | RTLD_LOCAL);
  if (!behind) {
    fprintf(stderr, "the recorder of CUPTI: %s\n", dlerror());
    abort();
  }
  line_open_file(reported("PP_CUPTI_TRANSCRIPT"));
#define FIND(function, ...) *(void**)&behind_##function = dlsym(behind, #function);
  FOR_EACH_PLAIN_CALL(FIND, FIND, FIND, FIND)
  FIND(cuptiSubscribe)
  FIND(cuptiSubscribe_v2)
  FIND(cuptiActivityRegisterCallbacks)
  FIND(cuptiActivityGetNextRecord)
  FIND(cuptiActivitySetAttribute)
  FIND(cuptiFinalize)
}
