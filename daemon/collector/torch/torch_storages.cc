#include "daemon/collector/torch/torch_storages.h"

#include <algorithm>

#include "attach/abi/torch_arena.h"

namespace ptrace_prof {
namespace {

// The words that follow a head, elements of a list not among them.
size_t WordsAfter(uint64_t head) {
  switch (PP_TORCH_INPUT_KIND(head)) {
    case PP_TORCH_INPUT_TENSOR:
    case PP_TORCH_INPUT_STORED: return size_t{2} * PP_TORCH_INPUT_DIMENSIONS(head);
    case PP_TORCH_INPUT_SPARSE: return PP_TORCH_INPUT_DIMENSIONS(head);
    case PP_TORCH_INPUT_NUMBER: return 1;
    default: return 0;
  }
}

}  // namespace

std::vector<TensorStorage> TakeStorages(std::vector<uint64_t>& words) {
  std::vector<TensorStorage> storages;
  size_t kept = 0;
  for (size_t at = 0; at < words.size() && PP_TORCH_INPUT_KIND(words[at]) != PP_TORCH_INPUT_END;) {
    uint64_t head = words[at++];
    const size_t after = std::min(WordsAfter(head), words.size() - at);
    const size_t end = at + after;
    const bool is_stored = PP_TORCH_INPUT_KIND(head) == PP_TORCH_INPUT_STORED;
    if (is_stored && words.size() - end >= 2) {
      const uint32_t device = PP_TORCH_INPUT_COUNT(head);
      storages.push_back({words[end],
                          static_cast<int64_t>(words[end + 1]),
                          {PP_TORCH_DEVICE_TYPE(device), PP_TORCH_DEVICE_INDEX(device)}});
    }
    if (is_stored) {
      head = PP_TORCH_INPUT(PP_TORCH_INPUT_TENSOR, PP_TORCH_INPUT_TAG(head), PP_TORCH_INPUT_TYPE(head),
                            PP_TORCH_INPUT_DIMENSIONS(head), 0);
    }
    words[kept++] = head;
    for (; at < end; ++at) {
      words[kept++] = words[at];
    }
    at = std::min(end + (is_stored ? 2 : 0), words.size());
  }
  words.resize(kept);
  return storages;
}

}  // namespace ptrace_prof
