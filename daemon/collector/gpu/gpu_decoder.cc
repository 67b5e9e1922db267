#include "daemon/collector/gpu/gpu_decoder.h"

#include <algorithm>
#include <cstddef>

namespace ptrace_prof {
namespace {

constexpr size_t kKindBytes = 4;  // at the beginning of every record

struct Field {
  uint16_t from;  // offset in CUPTI's record
  uint8_t size;
  uint16_t to;  // offset in GpuRecord, whose field is at least as wide
};

struct RecordLayout {
  GpuRecordKind kind;
  uint16_t least;  // bytes that a useful record must have
  std::span<const Field> fields;
};

#define PP_TO(member) static_cast<uint16_t>(offsetof(GpuRecord, member))

constexpr uint16_t ToLimit(GpuLimit limit) {
  return static_cast<uint16_t>(PP_TO(device_limits) + static_cast<size_t>(limit) * sizeof(uint32_t));
}

constexpr Field kKernelFields[] = {
    {6, 2, PP_TO(registers)},      {16, 8, PP_TO(start)},          {24, 8, PP_TO(end)},
    {40, 4, PP_TO(device)},        {44, 4, PP_TO(context)},        {48, 4, PP_TO(stream)},
    {52, 4, PP_TO(grid)},          {56, 4, PP_TO(grid) + 4},       {60, 4, PP_TO(grid) + 8},
    {64, 4, PP_TO(block)},         {68, 4, PP_TO(block) + 4},      {72, 4, PP_TO(block) + 8},
    {76, 4, PP_TO(static_shared)}, {80, 4, PP_TO(dynamic_shared)}, {92, 4, PP_TO(correlation)},
    {104, 8, PP_TO(name)},         {144, 8, PP_TO(graph_node)},    {156, 4, PP_TO(graph)},
    {168, 4, PP_TO(channel)},
};
constexpr Field kMemcpyFields[] = {
    {4, 1, PP_TO(copy_kind)}, {5, 1, PP_TO(source)},       {6, 1, PP_TO(target)},      {8, 8, PP_TO(bytes)},
    {16, 8, PP_TO(start)},    {24, 8, PP_TO(end)},         {32, 4, PP_TO(device)},     {36, 4, PP_TO(context)},
    {40, 4, PP_TO(stream)},   {44, 4, PP_TO(correlation)}, {64, 8, PP_TO(graph_node)}, {72, 4, PP_TO(graph)},
    {76, 4, PP_TO(channel)},
};
constexpr Field kMemcpyPeerFields[] = {
    {4, 1, PP_TO(copy_kind)}, {5, 1, PP_TO(source)},       {6, 1, PP_TO(target)},      {8, 8, PP_TO(bytes)},
    {16, 8, PP_TO(start)},    {24, 8, PP_TO(end)},         {32, 4, PP_TO(device)},     {36, 4, PP_TO(context)},
    {40, 4, PP_TO(stream)},   {60, 4, PP_TO(correlation)}, {72, 8, PP_TO(graph_node)}, {80, 4, PP_TO(graph)},
    {84, 4, PP_TO(channel)},
};
constexpr Field kMemsetFields[] = {
    {4, 4, PP_TO(value)},   {8, 8, PP_TO(bytes)},       {16, 8, PP_TO(start)},  {24, 8, PP_TO(end)},
    {32, 4, PP_TO(device)}, {36, 4, PP_TO(context)},    {40, 4, PP_TO(stream)}, {44, 4, PP_TO(correlation)},
    {50, 2, PP_TO(target)}, {64, 8, PP_TO(graph_node)}, {72, 4, PP_TO(graph)},  {76, 4, PP_TO(channel)},
};
constexpr Field kCallFields[] = {
    {4, 4, PP_TO(value)},   {8, 8, PP_TO(start)},        {16, 8, PP_TO(end)},
    {28, 4, PP_TO(thread)}, {32, 4, PP_TO(correlation)}, {36, 4, PP_TO(result)},
};
constexpr Field kSyncFields[] = {
    {4, 4, PP_TO(copy_kind)}, {8, 8, PP_TO(start)},   {16, 8, PP_TO(end)},   {24, 4, PP_TO(correlation)},
    {28, 4, PP_TO(context)},  {32, 4, PP_TO(stream)}, {36, 4, PP_TO(event)}, {48, 4, PP_TO(result)},
};
constexpr Field kOverheadFields[] = {
    {4, 4, PP_TO(copy_kind)}, {24, 8, PP_TO(start)}, {32, 8, PP_TO(end)}, {40, 4, PP_TO(correlation)}};
constexpr Field kJitFields[] = {{4, 4, PP_TO(value)},  {8, 4, PP_TO(copy_kind)}, {12, 4, PP_TO(device)},
                                {16, 8, PP_TO(start)}, {24, 8, PP_TO(end)},      {32, 4, PP_TO(correlation)}};
constexpr Field kDeviceFields[] = {
    {16, 8, PP_TO(bytes)},
    {32, 4, ToLimit(GpuLimit::kWarpSize)},
    {44, 4, ToLimit(GpuLimit::kMultiprocessors)},
    {52, 4, ToLimit(GpuLimit::kWarpsPerMultiprocessor)},
    {60, 4, ToLimit(GpuLimit::kSharedMemoryPerMultiprocessor)},
    {64, 4, ToLimit(GpuLimit::kRegistersPerMultiprocessor)},
    {68, 4, ToLimit(GpuLimit::kRegistersPerBlock)},
    {72, 4, ToLimit(GpuLimit::kSharedMemoryPerBlock)},
    {76, 4, ToLimit(GpuLimit::kThreadsPerBlock)},
    {104, 4, ToLimit(GpuLimit::kComputeMajor)},
    {108, 4, ToLimit(GpuLimit::kComputeMinor)},
    {112, 4, PP_TO(device)},
    {120, 8, PP_TO(uuid)},
    {128, 8, PP_TO(uuid) + 8},
    {136, 8, PP_TO(name)},
    {145, 1, PP_TO(is_slice)},
    {152, 4, PP_TO(gpu_instance)},
    {156, 4, PP_TO(compute_instance)},
    {160, 8, PP_TO(slice_uuid)},
    {168, 8, PP_TO(slice_uuid) + 8},
};
constexpr Field kContextFields[] = {{4, 4, PP_TO(context)}, {8, 4, PP_TO(device)}, {14, 2, PP_TO(flags)}};
constexpr Field kStreamFields[] = {
    {4, 4, PP_TO(context)}, {8, 4, PP_TO(stream)}, {12, 4, PP_TO(priority)}, {16, 4, PP_TO(flags)}};
constexpr Field kGraphFields[] = {{4, 4, PP_TO(correlation)}, {8, 8, PP_TO(start)},  {16, 8, PP_TO(end)},
                                  {24, 4, PP_TO(device)},     {28, 4, PP_TO(graph)}, {32, 4, PP_TO(context)},
                                  {36, 4, PP_TO(stream)}};
// The field at 20 is the kind of object; for a thread, its process and its own id follow. At the end of a range the
// name is null.
constexpr Field kMarkerFields[] = {{4, 4, PP_TO(flags)},   {8, 8, PP_TO(start)},    {16, 4, PP_TO(value)},
                                   {20, 4, PP_TO(source)}, {24, 4, PP_TO(process)}, {28, 4, PP_TO(thread)},
                                   {40, 8, PP_TO(name)},   {48, 8, PP_TO(domain)}};

#undef PP_TO

constexpr RecordLayout kLayouts[] = {
    {GpuRecordKind::kKernel, 112, kKernelFields},
    {GpuRecordKind::kMemcpy, 48, kMemcpyFields},
    {GpuRecordKind::kMemcpyPeer, 64, kMemcpyPeerFields},
    {GpuRecordKind::kMemset, 48, kMemsetFields},
    {GpuRecordKind::kRuntime, 40, kCallFields},
    {GpuRecordKind::kDriver, 40, kCallFields},
    {GpuRecordKind::kSync, 40, kSyncFields},
    {GpuRecordKind::kOverhead, 40, kOverheadFields},
    {GpuRecordKind::kDevice, 144, kDeviceFields},
    {GpuRecordKind::kContext, 16, kContextFields},
    {GpuRecordKind::kStream, 20, kStreamFields},
    {GpuRecordKind::kGraph, 40, kGraphFields},
    {GpuRecordKind::kJit, 40, kJitFields},
    {GpuRecordKind::kMarker, 48, kMarkerFields},
};

template <typename Number>
void CopyNumber(const uint8_t* from, uint8_t* to) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  std::memcpy(to, &number, sizeof number);
}

}  // namespace

GpuDecoder::GpuDecoder(std::span<const uint16_t> strides) {
  for (size_t kind = 1; kind < std::min(strides.size(), plans_.size()); ++kind) {
    plans_[kind].stride = strides[kind] >= kKindBytes ? strides[kind] : 0;
  }
  for (const RecordLayout& layout : kLayouts) {
    Plan& plan = plans_[static_cast<size_t>(layout.kind)];
    plan.is_read = plan.stride >= layout.least;
    for (const Field& field : layout.fields) {
      if (field.from + field.size <= plan.stride) {
        plan.copies.push_back({field.from, field.to, field.size});
      }
    }
  }
}

// Decodes the first record and returns its size; 0: there is no more.
size_t GpuDecoder::Next(std::span<const uint8_t> bytes, GpuRecord& record) {
  uint32_t kind = 0;
  if (bytes.size() < kKindBytes) {
    return 0;
  }
  std::memcpy(&kind, bytes.data(), sizeof kind);
  if (kind == 0) {  // the rest was never written
    return 0;
  }
  if (kind >= plans_.size() || plans_[kind].stride == 0 || plans_[kind].stride > bytes.size()) {
    ++unknown_;
    unread_bytes_ += bytes.size();
    return 0;
  }
  const Plan& plan = plans_[kind];
  ++records_;
  if (!plan.is_read) {
    ++unknown_;
    record.kind = GpuRecordKind::kNone;
    return plan.stride;
  }
  record = {};
  record.kind = static_cast<GpuRecordKind>(kind);
  auto* to = reinterpret_cast<uint8_t*>(&record);
  for (const Copy& copy : plan.copies) {  // little-endian: fills the lower bytes of a wider field
    switch (copy.size) {
      case 1: CopyNumber<uint8_t>(bytes.data() + copy.from, to + copy.to); break;
      case 2: CopyNumber<uint16_t>(bytes.data() + copy.from, to + copy.to); break;
      case 4: CopyNumber<uint32_t>(bytes.data() + copy.from, to + copy.to); break;
      default: CopyNumber<uint64_t>(bytes.data() + copy.from, to + copy.to); break;
    }
  }
  return plan.stride;
}

}  // namespace ptrace_prof
