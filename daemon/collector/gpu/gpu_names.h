// The names of a target's kernels, devices and annotations: text at addresses in its memory, read once and then
// checked.
//
// An unloaded module frees its addresses, and another one may put other names there. So in each round (NewRound, before
// a batch of records) the beginning of each name that is used is compared once. A name that cannot be read becomes
// "[name that is gone]". Bounded; the texts stay valid as long as this object lives. One per target; one thread.
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
  // Stores a name made by us for as long as this object lives.
  std::string_view Keep(std::string_view text);

 private:
  static constexpr size_t kBeginning = 128;
  struct Name {
    std::string_view text;
    std::array<char, kBeginning> beginning{};  // up to the end of the text, then zeros
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
