// Adapts the launcher's door to rpc's Doorkeeper interface, for the listener.
//
// Use it on the listener's thread only. Owns the daemon's end of the door.
#pragma once

#include <optional>

#include "daemon/server/captures/launcher_door.h"
#include "rpc/connection/arrival.h"

namespace ptrace_prof {

class DoorAdapter : public Doorkeeper {
 public:
  explicit DoorAdapter(UniqueFd door) : door_(std::in_place, std::move(door)) {}
  int fd() const override { return door_->fd(); }
  std::optional<Arrival> Take() override;
  bool has_left() const override { return door_->has_closed(); }
  void StopLettingIn() override { door_.reset(); }

 private:
  std::optional<LauncherDoor> door_;  // none once no connection is let in any more
};

}  // namespace ptrace_prof
