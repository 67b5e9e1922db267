// The names of a target's kernels and devices, or of what it annotates: text at addresses of its memory, read once and
// looked at again.
//
// A module that is unloaded gives its addresses back, and the next one puts other names there: the beginning of a name
// is compared once in each round (NewRound, before a batch of records) in which it is asked for. What cannot be read is
// "[name that is gone]". Bounded; the texts stay where they are for as long as this object lives. One per target; one
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class GpuNames {
 public:
  explicit GpuNames(RemoteMemory& memory) : memory_(memory) {}

  std::string_view Of(RemoteAddr address);
  void NewRound() { ++round_; }
  // Of names made here, which are to stay as long.
  std::string_view Keep(std::string_view text);

 private:
  static constexpr size_t kBeginning = 128;
  struct Name {
    std::string_view text;
    std::array<char, kBeginning> beginning{};  // up to the end of the text, zeros behind it
    uint32_t round = 0;
  };

  bool ReadBeginning(RemoteAddr address, std::array<char, kBeginning>& beginning);
  std::string ReadText(RemoteAddr address);

  RemoteMemory& memory_;
  std::unordered_map<uint64_t, Name> names_;
  std::unordered_set<std::string> texts_;
  size_t bytes_ = 0;
  uint32_t round_ = 1;
  uint64_t last_address_ = 0;
  const Name* last_ = nullptr;
};

}  // namespace ptrace_prof
