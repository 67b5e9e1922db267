// What an operator of PyTorch got, from the words that the hook writes (attach/abi/torch_arena.h) to JSON arrays as
// Kineto writes them. The words are untrusted. Plain function.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/trace/operator.h"

namespace ptrace_prof {

// `list_tag`: the tag of lists, which says which tag is that of booleans; 0: not known.
OperatorInputs DescribeInputs(std::span<const uint64_t> words, uint32_t list_tag);

// The tag of the first list with elements; 0: there is none.
uint32_t ListTagIn(std::span<const uint64_t> words);

}  // namespace ptrace_prof
