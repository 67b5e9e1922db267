#include "daemon/trace/gpu_codec.h"

#include "daemon/trace/counter_codec.h"
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

using DeviceFields = trace::GpuDevice;
using GpuAccountingFields = trace::GpuAccounting;
using TrackFields = trace::GpuTrack;
using ShapeFields = trace::GpuShape;

constexpr size_t kMaxText = 4096;

struct DeviceNumber {
  int field;
  uint32_t GpuDevice::*member;
};
constexpr DeviceNumber kDeviceNumbers[] = {
    {DeviceFields::kIdFieldNumber, &GpuDevice::id},
    {DeviceFields::kComputeMajorFieldNumber, &GpuDevice::compute_major},
    {DeviceFields::kComputeMinorFieldNumber, &GpuDevice::compute_minor},
    {DeviceFields::kMultiprocessorsFieldNumber, &GpuDevice::multiprocessors},
    {DeviceFields::kMaxThreadsPerBlockFieldNumber, &GpuDevice::max_threads_per_block},
    {DeviceFields::kMaxThreadsPerMultiprocessorFieldNumber, &GpuDevice::max_threads_per_multiprocessor},
    {DeviceFields::kRegistersPerBlockFieldNumber, &GpuDevice::registers_per_block},
    {DeviceFields::kRegistersPerMultiprocessorFieldNumber, &GpuDevice::registers_per_multiprocessor},
    {DeviceFields::kSharedMemoryPerBlockFieldNumber, &GpuDevice::shared_memory_per_block},
    {DeviceFields::kSharedMemoryPerMultiprocessorFieldNumber, &GpuDevice::shared_memory_per_multiprocessor},
    {DeviceFields::kWarpSizeFieldNumber, &GpuDevice::warp_size},
};

void EncodeNumber(int field, uint32_t number, WireEncoder& out) {
  if (number != kNoGpuNumber) {
    out.Varint(field, number);
  }
}

}  // namespace

void EncodeGpuDevice(const GpuDevice& device, WireEncoder& out) {
  out.SignedVarint(DeviceFields::kPidFieldNumber, device.pid.value);
  out.StringIfSet(DeviceFields::kNameFieldNumber, std::string_view(device.name).substr(0, kMaxText));
  out.StringIfSet(DeviceFields::kUuidFieldNumber, std::string_view(device.uuid).substr(0, kMaxText));
  out.VarintIfSet(DeviceFields::kMemoryBytesFieldNumber, device.memory_bytes);
  for (const DeviceNumber& row : kDeviceNumbers) {
    out.VarintIfSet(row.field, device.*row.member);
  }
}

GpuDevice DecodeGpuDevice(std::string_view message) {
  GpuDevice device;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    for (const DeviceNumber& row : kDeviceNumbers) {
      if (field.number == static_cast<uint32_t>(row.field)) {
        device.*row.member = static_cast<uint32_t>(field.value);
      }
    }
    switch (field.number) {
      case DeviceFields::kPidFieldNumber: device.pid = Pid(static_cast<int32_t>(field.value)); break;
      case DeviceFields::kNameFieldNumber: device.name = field.bytes.substr(0, kMaxText); break;
      case DeviceFields::kUuidFieldNumber: device.uuid = field.bytes.substr(0, kMaxText); break;
      case DeviceFields::kMemoryBytesFieldNumber: device.memory_bytes = field.value; break;
      default: break;
    }
  }
  return device;
}

void EncodeGpuAccounting(const GpuAccounting& accounting, WireEncoder& out) {
  out.SignedVarint(GpuAccountingFields::kPidFieldNumber, accounting.pid.value);
  out.VarintIfSet(GpuAccountingFields::kStateFieldNumber, static_cast<uint64_t>(accounting.state));
  if (accounting.reason != Reason::kUnspecified) {
    out.StringIfSet(GpuAccountingFields::kReasonFieldNumber, ReasonName(accounting.reason));
  }
  out.StringIfSet(GpuAccountingFields::kMessageFieldNumber, accounting.message);
  out.StringIfSet(GpuAccountingFields::kRemedyFieldNumber, accounting.remedy);
  out.VarintIfSet(GpuAccountingFields::kCuptiVersionFieldNumber, accounting.cupti_version);
  EncodeCounters(accounting, out);
}

GpuAccounting DecodeGpuAccounting(std::string_view message) {
  GpuAccounting accounting;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    DecodeCounter(field, accounting);
    switch (field.number) {
      case GpuAccountingFields::kPidFieldNumber: accounting.pid = Pid(static_cast<int32_t>(field.value)); break;
      case GpuAccountingFields::kStateFieldNumber:
        if (field.value < kGpuCaptureStates) {
          accounting.state = static_cast<GpuCaptureState>(field.value);
        }
        break;
      case GpuAccountingFields::kReasonFieldNumber: accounting.reason = ReasonNamed(field.bytes); break;
      case GpuAccountingFields::kMessageFieldNumber: accounting.message = field.bytes.substr(0, kMaxText); break;
      case GpuAccountingFields::kRemedyFieldNumber: accounting.remedy = field.bytes.substr(0, kMaxText); break;
      case GpuAccountingFields::kCuptiVersionFieldNumber:
        accounting.cupti_version = static_cast<uint32_t>(field.value);
        break;
      default: break;
    }
  }
  return accounting;
}

void EncodeGpuQueue(const GpuQueue& queue, WireEncoder& out) {
  out.SignedVarint(TrackFields::kPidFieldNumber, queue.pid.value);
  EncodeNumber(TrackFields::kDeviceFieldNumber, queue.device, out);
  EncodeNumber(TrackFields::kContextFieldNumber, queue.context, out);
  EncodeNumber(TrackFields::kStreamFieldNumber, queue.stream, out);
  out.SignedVarint(TrackFields::kPriorityFieldNumber, queue.priority);
  out.VarintIfSet(TrackFields::kIsDefaultFieldNumber, queue.is_default ? 1 : 0);
  out.VarintIfSet(TrackFields::kIsOverheadFieldNumber, queue.is_overhead ? 1 : 0);
}

GpuQueue DecodeGpuQueue(std::string_view message) {
  GpuQueue queue;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case TrackFields::kPidFieldNumber: queue.pid = Pid(static_cast<int32_t>(field.value)); break;
      case TrackFields::kDeviceFieldNumber: queue.device = static_cast<uint32_t>(field.value); break;
      case TrackFields::kContextFieldNumber: queue.context = static_cast<uint32_t>(field.value); break;
      case TrackFields::kStreamFieldNumber: queue.stream = static_cast<uint32_t>(field.value); break;
      case TrackFields::kPriorityFieldNumber: queue.priority = static_cast<int32_t>(field.value); break;
      case TrackFields::kIsDefaultFieldNumber: queue.is_default = field.value != 0; break;
      case TrackFields::kIsOverheadFieldNumber: queue.is_overhead = field.value != 0; break;
      default: break;
    }
  }
  return queue;
}

void EncodeGpuShape(const GpuShape& shape, WireEncoder& out) {
  for (const uint32_t count : shape.grid) {
    out.Varint(ShapeFields::kGridFieldNumber, count);
  }
  for (const uint32_t count : shape.block) {
    out.Varint(ShapeFields::kBlockFieldNumber, count);
  }
  out.VarintIfSet(ShapeFields::kRegistersPerThreadFieldNumber, shape.registers_per_thread);
  out.VarintIfSet(ShapeFields::kStaticSharedMemoryFieldNumber, shape.static_shared_memory);
  out.VarintIfSet(ShapeFields::kDynamicSharedMemoryFieldNumber, shape.dynamic_shared_memory);
}

GpuShape DecodeGpuShape(std::string_view message) {
  GpuShape shape;
  size_t grid = 0;
  size_t block = 0;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    const auto number = static_cast<uint32_t>(field.value);
    switch (field.number) {
      case ShapeFields::kGridFieldNumber:
        if (grid < shape.grid.size()) {
          shape.grid[grid++] = number;
        }
        break;
      case ShapeFields::kBlockFieldNumber:
        if (block < shape.block.size()) {
          shape.block[block++] = number;
        }
        break;
      case ShapeFields::kRegistersPerThreadFieldNumber: shape.registers_per_thread = number; break;
      case ShapeFields::kStaticSharedMemoryFieldNumber: shape.static_shared_memory = number; break;
      case ShapeFields::kDynamicSharedMemoryFieldNumber: shape.dynamic_shared_memory = number; break;
      default: break;
    }
  }
  return shape;
}

}  // namespace ptrace_prof
