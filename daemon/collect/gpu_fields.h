// Which fields are asked of CUPTI's records where they can be chosen (its second generation of calls), and which of
// ours they are: a table. Where they lie in a record, CUPTI says then (pp_gpu_layout).
//
// Pure data. Numbers are those of CUPTI's lists of fields for each kind. Correlations are 64 bits there, and count on.
#pragma once

#include <cstdint>
#include <span>

#include "attach/abi/gpu_boot.h"
#include "daemon/collect/gpu_record.h"

namespace ptrace_prof {

struct GpuField {
  uint8_t id;
  uint8_t size;  // of ours: of a longer one the lower bytes are taken
  uint16_t to;   // offset in GpuRecord
};

struct GpuFieldsOfKind {
  GpuRecordKind kind;
  std::span<const GpuField> fields;  // without that of the kind, which has number 0 and is always first
  uint32_t source = 0;               // GpuRecord.source, where no field says it
};

// At most PP_GPU_LAYOUTS, of at most PP_GPU_LAYOUT_FIELDS - 1 fields each.
std::span<const GpuFieldsOfKind> GpuChosenFields();
void SetGpuFields(pp_gpu_boot* boot);

}  // namespace ptrace_prof
