#include "daemon/server/program/door_adapter.h"

namespace ptrace_prof {

std::optional<Arrival> DoorAdapter::Take() {
  auto came = door_->Take();
  if (!came.has_value()) {
    return std::nullopt;
  }
  PeerIdentity peer{.uid = came->who.uid.value,
                    .gid = came->who.gid.value,
                    .groups = {},
                    .pid = came->pid,
                    .number = came->number.value,
                    .is_administrator = came->is_administrator};
  for (const Gid group : came->who.groups) {
    peer.groups.push_back(group.value);
  }
  return Arrival{std::move(came->connection), std::move(peer), std::move(came->verdict)};
}

}  // namespace ptrace_prof
