// What all sequences of a trace share: the StackTable that visitors see, and the memory limits.
//
// Owned by TraceReader. Input is hostile: all growing data is charged here, and refused above a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

class ReaderVocabulary {
 public:
  static constexpr size_t kMaxTableBytes = size_t{256} << 20;  // of all sequences' tables together
  static constexpr size_t kMaxFrameBytes = size_t{256} << 20;
  static constexpr size_t kMaxStacks = size_t{8} << 20;
  static constexpr size_t kMaxDetails = 4096;
  static constexpr size_t kMaxDescribed = size_t{512} << 20;

  const StackTable& stacks() const { return stacks_; }
  FrameId InternFrame(const Frame& frame);
  std::optional<StackId> InternStack(StackId parent, FrameId frame);
  // Returns the same text, valid as long as the reader lives; empty if there are too many.
  std::string_view Detail(std::string_view text);

  // The same for the name of a GPU operation or call, which the trace defines once.
  std::string_view GpuName(std::string_view text);

  // Whether an entry of a sequence's table may be added: entries are numbered in order, and `bytes` of text (with what
  // an entry costs besides) are charged, also to `charged`. False: the item counts as skipped.
  bool Admit(uint64_t iid, uint64_t expected, size_t bytes, size_t& charged);

  // Charges table memory. False: none is left, and the item counts as skipped.
  bool Charge(size_t bytes);
  void Refund(size_t bytes) { table_bytes_ -= bytes; }

  // Charges what visitors are likely to keep: processes, threads, their names. False: that is too much already.
  bool Describe(size_t bytes);

  void Skip() { ++skipped_; }
  uint64_t skipped() const { return skipped_; }

 private:
  StackTable stacks_;
  std::unordered_set<std::string> details_;
  std::unordered_set<std::string> gpu_names_;
  size_t table_bytes_ = 0;
  size_t frame_bytes_ = 0;
  size_t described_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace ptrace_prof
