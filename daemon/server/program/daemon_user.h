// The user that ptrace-profd runs as once it needs no rights any more, and becoming that user for good.
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

// Started by root: "ptrace-prof" where there is such a user, else "nobody". Otherwise whoever started it.
Result<DaemonUser> ChooseDaemonUser();

// All capabilities go, in every set, and cannot come back; root becomes `user`. Call with one thread.
Result<void> DropRights(const DaemonUser& user);

}  // namespace ptrace_prof
