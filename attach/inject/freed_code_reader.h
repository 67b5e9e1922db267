// The code objects and classes that a traced target freed, as its stub tells them (pp_freed in attach/abi/channel.h).
//
// They are told before the memory is given back: where a name was read at an address and nothing was told of that
// address since, the name is that of whoever was there. Shared memory is the target's to spoil: bounded, never trusted
// with more than names. Owned by the Channel; its one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/abi/channel.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct FreedCode {
  RemoteAddr code;
  uint64_t when = 0;  // ticks of the channel's clock; every event of it is older
  int32_t first_line = 0;
  bool is_type = false;
  std::string name = {};  // after "…" where there was more; empty: not told
  std::string file = {};
};

class FreedCodeReader {
 public:
  FreedCodeReader(pp_channel* head, pp_freed* table) : head_(head), table_(table) {}

  // Whether they are told, now.
  bool is_told() const;
  // Something was told since the last Take.
  bool HasMore() const;
  // Appends what was told since, in its order. False: some of that was not told, or overwritten before it was read, and
  // nothing is appended; what is missing was freed until `unsure`.
  bool Take(std::vector<FreedCode>* freed, uint64_t* unsure);

 private:
  FreedCode EntryAt(uint64_t number) const;
  uint64_t Unsure() const;

  pp_channel* head_;
  pp_freed* table_;
  uint64_t taken_ = 0;
  uint64_t unsure_ = 0;  // as Take said last
};

}  // namespace ptrace_prof
