// Gives each generator and coroutine of a process an id, from the first time that its frame is seen until it ends. The
// frame's address is not enough, because the next generator may reuse it.
//
// One per traced process, shared by its replayers, because a generator may be resumed on another thread. One thread.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "attach/base/types.h"
#include "daemon/trace/call.h"

namespace ptrace_prof {

class GeneratorIds {
 public:
  // A new generator begins in this frame.
  GeneratorId Begin(RemoteAddr frame) {
    MakeRoom();
    return ids_[frame] = GeneratorId(++last_);
  }
  // The generator in this frame; it may have begun before the recording.
  GeneratorId Of(RemoteAddr frame) {
    MakeRoom();
    GeneratorId& id = ids_[frame];
    if (id.value == 0) {
      id = GeneratorId(++last_);
    }
    return id;
  }
  void End(RemoteAddr frame) { ids_.erase(frame); }

 private:
  static constexpr size_t kMaxGenerators = size_t{1} << 20;

  // Generators that are dropped half-way report nothing. When too many seem to be alive, all are forgotten, and live
  // ones get a new id.
  void MakeRoom() {
    if (ids_.size() >= kMaxGenerators) {
      ids_.clear();
    }
  }

  std::unordered_map<RemoteAddr, GeneratorId> ids_;
  uint64_t last_ = 0;
};

}  // namespace ptrace_prof
