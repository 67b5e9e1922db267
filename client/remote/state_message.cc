#include "client/remote/state_message.h"

#include <array>

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

struct StateRow {
  v1::State message;
  RemoteState state;
};
constexpr std::array<StateRow, kRemoteStates> kStates = {{{v1::STATE_PENDING, RemoteState::kPending},
                                                          {v1::STATE_ARMED, RemoteState::kArmed},
                                                          {v1::STATE_RUNNING, RemoteState::kRunning},
                                                          {v1::STATE_DRAINING, RemoteState::kDraining},
                                                          {v1::STATE_SUCCEEDED, RemoteState::kSucceeded},
                                                          {v1::STATE_FAILED, RemoteState::kFailed},
                                                          {v1::STATE_CANCELLED, RemoteState::kCancelled}}};

}  // namespace

RemoteState StateOf(v1::State message) {
  for (const StateRow& row : kStates) {
    if (row.message == message) {
      return row.state;
    }
  }
  return RemoteState::kPending;
}

}  // namespace ptrace_prof
