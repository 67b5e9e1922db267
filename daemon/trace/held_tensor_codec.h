// HeldTensor as a message of extension.proto. Plain functions; decoding bounds everything.
#pragma once

#include <string_view>

#include "daemon/trace/held_tensor.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

void EncodeHeldTensor(const HeldTensor& tensor, WireEncoder& out);
HeldTensor DecodeHeldTensor(std::string_view message);

}  // namespace ptrace_prof
