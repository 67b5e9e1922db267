// Numbers the strings in a StackTable's frames (function and file names) for all sequences of a writer together.
//
// Owned by TraceWriter. Ids start at 1 and hold until Clear, which must follow a Clear of the StackTable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/trace/id_index.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class FrameNames {
 public:
  struct Ids {
    uint32_t function = 0;
    uint32_t file = 0;
  };

  explicit FrameNames(const StackTable& stacks) : stacks_(stacks) {}

  Ids Of(FrameId frame);
  uint32_t NoName() { return Intern({}); }
  std::string_view Text(uint32_t id) const { return texts_[id - 1]; }
  void Clear();

 private:
  uint32_t Intern(std::string_view text);

  const StackTable& stacks_;
  std::vector<Ids> of_frame_;
  std::vector<std::string_view> texts_;  // into the StackTable's frames
  IdIndex index_;
};

}  // namespace ptrace_prof
