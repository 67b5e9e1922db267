// The launcher as the listener's doorkeeper: who connected, in the words of rpc.
//
// Used on the listener's thread alone. Owns the daemon's side of the door.
#pragma once

#include "daemon/session/launcher_door.h"
#include "rpc/arrival.h"

namespace ptrace_prof {

class DoorAdapter : public Doorkeeper {
 public:
  explicit DoorAdapter(UniqueFd door) : door_(std::move(door)) {}
  int fd() const override { return door_.fd(); }
  std::optional<Arrival> Take() override;
  bool has_left() const override { return door_.has_closed(); }

 private:
  LauncherDoor door_;
};

}  // namespace ptrace_prof
