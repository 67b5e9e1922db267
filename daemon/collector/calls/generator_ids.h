// Tells the generators and coroutines of a process apart: an id for each, from the first time that its frame is seen
// until it is done. The address of a frame alone will not do, because the next generator may get it.
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
  // A new one begins in this frame.
  GeneratorId Begin(RemoteAddr frame) {
    MakeRoom();
    return ids_[frame] = GeneratorId(++last_);
  }
  // The one in this frame; it may have begun before anybody looked.
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

  // Generators that are dropped half-way say nothing. When too many seem to be alive, all are forgotten: those that
  // still are get a new id.
  void MakeRoom() {
    if (ids_.size() >= kMaxGenerators) {
      ids_.clear();
    }
  }

  std::unordered_map<RemoteAddr, GeneratorId> ids_;
  uint64_t last_ = 0;
};

}  // namespace ptrace_prof
