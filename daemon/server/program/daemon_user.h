// Chooses the user that ptrace-profd runs as once it needs no privileges, and becomes that user for good.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct DaemonUser {
  Uid uid;
  Gid gid;
  std::string name;
};

// If root started us: "ptrace-prof" if there is such a user, else "nobody". Otherwise the user who started us.
Result<DaemonUser> ChooseDaemonUser();

// Drops all capabilities from every set for good; root becomes `user`. Call with one thread.
Result<void> DropRights(const DaemonUser& user);

}  // namespace ptrace_prof
