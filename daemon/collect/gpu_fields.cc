#include "daemon/collect/gpu_fields.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ptrace_prof {
namespace {

#define PP_TO(member) sizeof(GpuRecord::member), static_cast<uint16_t>(offsetof(GpuRecord, member))
#define PP_PART(member, index) 4, static_cast<uint16_t>(offsetof(GpuRecord, member) + (index) * sizeof(uint32_t))
#define PP_LIMIT(name) PP_PART(device_limits, static_cast<size_t>(GpuLimit::name))

constexpr GpuField kKernelFields[] = {
    {4, PP_TO(registers)},      {7, PP_TO(start)},           {8, PP_TO(end)},          {10, PP_TO(device)},
    {11, PP_TO(context)},       {12, PP_TO(stream)},         {13, PP_PART(grid, 0)},   {14, PP_PART(grid, 1)},
    {15, PP_PART(grid, 2)},     {16, PP_PART(block, 0)},     {17, PP_PART(block, 1)},  {18, PP_PART(block, 2)},
    {19, PP_TO(static_shared)}, {20, PP_TO(dynamic_shared)}, {22, PP_TO(correlation)}, {24, PP_TO(name)},
    {31, PP_TO(graph_node)},    {33, PP_TO(graph)},          {35, PP_TO(channel)},
};
constexpr GpuField kMemcpyFields[] = {
    {1, PP_TO(copy_kind)},   {2, PP_TO(source)}, {3, PP_TO(target)},   {5, PP_TO(bytes)},   {6, PP_TO(start)},
    {7, PP_TO(end)},         {8, PP_TO(device)}, {9, PP_TO(context)},  {10, PP_TO(stream)}, {11, PP_TO(correlation)},
    {12, PP_TO(graph_node)}, {13, PP_TO(graph)}, {14, PP_TO(channel)},
};
constexpr GpuField kMemcpyPeerFields[] = {
    {1, PP_TO(copy_kind)},   {2, PP_TO(source)}, {3, PP_TO(target)},   {5, PP_TO(bytes)},   {6, PP_TO(start)},
    {7, PP_TO(end)},         {8, PP_TO(device)}, {9, PP_TO(context)},  {10, PP_TO(stream)}, {15, PP_TO(correlation)},
    {16, PP_TO(graph_node)}, {17, PP_TO(graph)}, {18, PP_TO(channel)},
};
constexpr GpuField kMemsetFields[] = {
    {1, PP_TO(value)},   {2, PP_TO(bytes)},       {3, PP_TO(start)},  {4, PP_TO(end)},
    {5, PP_TO(device)},  {6, PP_TO(context)},     {7, PP_TO(stream)}, {8, PP_TO(correlation)},
    {10, PP_TO(target)}, {11, PP_TO(graph_node)}, {12, PP_TO(graph)}, {13, PP_TO(channel)},
};
constexpr GpuField kCallFields[] = {
    {1, PP_TO(value)},  {2, PP_TO(start)},       {3, PP_TO(end)},
    {5, PP_TO(thread)}, {6, PP_TO(correlation)}, {7, PP_TO(result)},
};
constexpr GpuField kSyncFields[] = {
    {1, PP_TO(copy_kind)}, {2, PP_TO(start)},  {3, PP_TO(end)},   {4, PP_TO(correlation)},
    {5, PP_TO(context)},   {6, PP_TO(stream)}, {7, PP_TO(event)}, {9, PP_TO(result)},
};
constexpr GpuField kOverheadFields[] = {
    {1, PP_TO(copy_kind)},
    {4, PP_TO(start)},
    {5, PP_TO(end)},
    {6, PP_TO(correlation)},
};
constexpr GpuField kJitFields[] = {
    {1, PP_TO(value)}, {2, PP_TO(copy_kind)}, {3, PP_TO(device)},
    {4, PP_TO(start)}, {5, PP_TO(end)},       {6, PP_TO(correlation)},
};
constexpr GpuField kDeviceFields[] = {
    {3, PP_TO(bytes)},
    {6, PP_LIMIT(kWarpSize)},
    {9, PP_LIMIT(kMultiprocessors)},
    {11, PP_LIMIT(kWarpsPerMultiprocessor)},
    {13, PP_LIMIT(kSharedMemoryPerMultiprocessor)},
    {14, PP_LIMIT(kRegistersPerMultiprocessor)},
    {15, PP_LIMIT(kRegistersPerBlock)},
    {16, PP_LIMIT(kSharedMemoryPerBlock)},
    {17, PP_LIMIT(kThreadsPerBlock)},
    {24, PP_LIMIT(kComputeMajor)},
    {25, PP_LIMIT(kComputeMinor)},
    {26, PP_TO(device)},
    {28, PP_TO(uuid)},
    {29, PP_TO(name)},
    {31, PP_TO(is_slice)},
    {32, PP_TO(gpu_instance)},
    {33, PP_TO(compute_instance)},
    {34, PP_TO(slice_uuid)},
};
constexpr GpuField kContextFields[] = {{1, PP_TO(context)}, {2, PP_TO(device)}, {4, PP_TO(flags)}};
constexpr GpuField kStreamFields[] = {{1, PP_TO(context)}, {2, PP_TO(stream)}, {3, PP_TO(priority)}, {4, PP_TO(flags)}};
constexpr GpuField kGraphFields[] = {
    {1, PP_TO(correlation)}, {2, PP_TO(start)},   {3, PP_TO(end)},    {4, PP_TO(device)},
    {5, PP_TO(graph)},       {6, PP_TO(context)}, {7, PP_TO(stream)},
};
// What it is of is not told: its thread and its process are.
constexpr uint32_t kMarkerOfThread = 2;
constexpr GpuField kMarkerFields[] = {
    {1, PP_TO(flags)},  {2, PP_TO(start)}, {3, PP_TO(value)},  {4, PP_TO(process)},
    {5, PP_TO(thread)}, {6, PP_TO(name)},  {7, PP_TO(domain)},
};

#undef PP_TO
#undef PP_PART
#undef PP_LIMIT

constexpr GpuFieldsOfKind kChosen[] = {
    {GpuRecordKind::kKernel, kKernelFields},
    {GpuRecordKind::kMemcpy, kMemcpyFields},
    {GpuRecordKind::kMemcpyPeer, kMemcpyPeerFields},
    {GpuRecordKind::kMemset, kMemsetFields},
    {GpuRecordKind::kRuntime, kCallFields},
    {GpuRecordKind::kDriver, kCallFields},
    {GpuRecordKind::kSync, kSyncFields},
    {GpuRecordKind::kOverhead, kOverheadFields},
    {GpuRecordKind::kDevice, kDeviceFields},
    {GpuRecordKind::kContext, kContextFields},
    {GpuRecordKind::kStream, kStreamFields},
    {GpuRecordKind::kGraph, kGraphFields},
    {GpuRecordKind::kJit, kJitFields},
    {GpuRecordKind::kMarker, kMarkerFields, kMarkerOfThread},
};
static_assert(std::size(kChosen) <= PP_GPU_LAYOUTS);
static_assert(std::ranges::all_of(kChosen,
                                  [](const GpuFieldsOfKind& one) { return one.fields.size() < PP_GPU_LAYOUT_FIELDS; }));

}  // namespace

std::span<const GpuFieldsOfKind> GpuChosenFields() { return kChosen; }

void SetGpuFields(pp_gpu_boot* boot) {
  pp_gpu_fields* row = boot->fields;
  for (const GpuFieldsOfKind& chosen : kChosen) {
    row->kind = static_cast<uint8_t>(chosen.kind);
    row->ids[0] = 0;
    row->count = 1;
    for (const GpuField& field : chosen.fields) {
      row->ids[row->count++] = field.id;
    }
    ++row;
  }
}

}  // namespace ptrace_prof
