// The code objects and classes that a traced target freed, as reported by its stub (pp_freed in attach/abi/channel.h).
//
// The stub reports them before their memory is freed. So if a name was read at an address and nothing was reported for
// that address since, the name is still right for earlier events. The target can corrupt shared memory, so the data is
// bounded, and trusted only for names. Owned by the Channel; used by its one thread.
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
  std::string name = {};  // starts with "…" if it was longer; empty: not recorded
  std::string file = {};
};

class FreedCodeReader {
 public:
  FreedCodeReader(pp_channel* head, pp_freed* table) : head_(head), table_(table) {}

  // Whether the stub reports freed code now.
  bool is_reported() const;
  // Whether there are new entries since the last Take.
  bool HasMore() const;
  // Appends the new entries in order. Returns false and appends nothing if entries are missing, or were overwritten
  // before they were read; the missing objects were freed before `unsure`.
  bool Take(std::vector<FreedCode>* freed, uint64_t* unsure);

 private:
  FreedCode EntryAt(uint64_t number) const;
  uint64_t Unsure() const;

  pp_channel* head_;
  pp_freed* table_;
  uint64_t taken_ = 0;
  uint64_t unsure_ = 0;  // the last value from Take
};

}  // namespace ptrace_prof
