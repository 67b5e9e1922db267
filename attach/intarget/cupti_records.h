// What CUPTI is told of the records that are wanted of its second generation of calls, and what it tells of those that
// come: which fields, and where. Own declarations, held to the real headers as those of cupti_library.h.
//
// Structures that we fill in begin with their size, by which the library knows what is in them; those that it fills in
// do so too, for us.
#ifndef PTRACE_PROF_ATTACH_INTARGET_CUPTI_RECORDS_H_
#define PTRACE_PROF_ATTACH_INTARGET_CUPTI_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "attach/abi/abi.h"

typedef struct pp_cupti_selection {
  size_t size;
  size_t count;
  int* fields;  // first that of the kind
} pp_cupti_selection;

// Records of some calls only.
typedef struct pp_cupti_call_list {
  size_t size;
  uint32_t* calls;
  size_t count;
  uint8_t is_allowed;  // 0: of all but those
} pp_cupti_call_list;

typedef struct pp_cupti_call_options {
  size_t size;
  pp_cupti_call_list* list;
} pp_cupti_call_options;

typedef struct pp_cupti_config {
  size_t size;
  pp_cupti_selection selection;
  void* options;  // pp_cupti_call_options, of kinds of calls; null: none
} pp_cupti_config;
PP_STATIC_ASSERT(sizeof(pp_cupti_config) == 40, "as in CUDA 13.4");
enum { PP_CUPTI_CONFIG_13_3 = offsetof(pp_cupti_config, options) };

typedef struct pp_cupti_field_place {
  size_t size;
  int field;
  size_t offset;
  size_t bytes;
  size_t alignment;
} pp_cupti_field_place;

typedef struct pp_cupti_record_layout {
  size_t size;
  pp_cupti_field_place* places;
  size_t count;
  size_t bytes;  // of a record
} pp_cupti_record_layout;

// Of a buffer that is given back.
typedef struct pp_cupti_complete_info {
  size_t size;
  uint64_t thread;
  pp_cupti_record_layout** layouts;  // by kind; null: of that kind there is none
  size_t count;
} pp_cupti_complete_info;
PP_STATIC_ASSERT(sizeof(pp_cupti_complete_info) == 32 && sizeof(pp_cupti_field_place) == 40, "as in CUDA 13.4");

typedef void (*pp_cupti_request_second)(uint8_t** buffer, size_t* size, size_t* max_records, const void* info);
typedef void (*pp_cupti_complete_second)(uint8_t* buffer, size_t size, size_t valid,
                                         const pp_cupti_complete_info* info);

#endif  // PTRACE_PROF_ATTACH_INTARGET_CUPTI_RECORDS_H_
