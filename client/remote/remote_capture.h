// A capture as its daemon describes it. Pure data; times are from the daemon's clock, since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

enum class RemoteState : uint8_t { kPending, kArmed, kRunning, kDraining, kSucceeded, kFailed, kCancelled };
inline constexpr size_t kRemoteStates = 7;

struct RemoteCapture {
  std::string name;  // "nodes/NODE/captures/ID"
  RemoteState state = RemoteState::kPending;
  Pid pid;
  Uid owner;
  bool keep = false;
  Nanos duration;  // requested; 0: no limit
  Nanos created;
  Nanos started;  // 0: not yet
  Nanos ended;    // 0: not yet
  uint64_t trace_bytes = 0;
  uint64_t samples = 0;
  uint64_t truncated = 0;
  uint64_t torn = 0;
  uint64_t lost = 0;
  uint64_t processes = 0;
  uint64_t threads = 0;
  std::optional<v1::Mode> mode;  // the mode in use; nothing: not chosen yet
  std::string sampled_because;   // see CaptureTask
  std::string end_message;       // how it ended, for people
  std::vector<std::string> notices;
  std::optional<Error> error;  // of a failed capture

  std::string id() const { return name.substr(name.rfind('/') + 1); }
  bool has_ended() const { return state >= RemoteState::kSucceeded; }
};

}  // namespace ptrace_prof
