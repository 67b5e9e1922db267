// Converts the structs of gpu.h to messages of extension.proto and back, for TraceWriter and TraceReader.
//
// Encoders append fields of the message to `out`. Decoders take hostile bytes: an invalid value keeps its default, and
// strings are bounded.
#pragma once

#include <string_view>

#include "daemon/trace/gpu.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

void EncodeGpuDevice(const GpuDevice& device, WireEncoder& out);
GpuDevice DecodeGpuDevice(std::string_view message);

void EncodeGpuAccounting(const GpuAccounting& accounting, WireEncoder& out);
GpuAccounting DecodeGpuAccounting(std::string_view message);

// The fields of GpuTrack that identify its queue.
void EncodeGpuQueue(const GpuQueue& queue, WireEncoder& out);
GpuQueue DecodeGpuQueue(std::string_view message);

void EncodeGpuShape(const GpuShape& shape, WireEncoder& out);
GpuShape DecodeGpuShape(std::string_view message);

}  // namespace ptrace_prof
