// Between the structs of gpu.h and the messages of extension.proto, both ways: what TraceWriter and TraceReader must
// agree on, in one place.
//
// Encoders append fields of the message to `out`. Decoders take hostile bytes: what makes no sense keeps its default,
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

// The fields of GpuTrack that say which queue it is.
void EncodeGpuQueue(const GpuQueue& queue, WireEncoder& out);
GpuQueue DecodeGpuQueue(std::string_view message);

void EncodeGpuShape(const GpuShape& shape, WireEncoder& out);
GpuShape DecodeGpuShape(std::string_view message);

}  // namespace ptrace_prof
