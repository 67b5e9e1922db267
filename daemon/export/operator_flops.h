// How many floating point operations an operator of PyTorch needs, from the sizes of what it gets.
//
// As torch.profiler counts (with_flops: torch/csrc/profiler/util.cpp) for conv2d, mm, addmm, bmm, baddbmm, mul and add,
// and as torch.utils.flop_counter counts for convolutions and attention: a multiplication and an addition are two.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/trace/operator.h"

namespace ptrace_prof {

// nullopt: the operator is none of those, or its inputs do not fit it.
std::optional<uint64_t> FlopsOf(std::string_view name, const OperatorInputs& inputs);

}  // namespace ptrace_prof
