// The file behind a mapping of another process, opened so that it is that file and no other.
//
// Four ways in this order, because the name in maps is the target's and may be deleted, replaced, or seen from
// another mount namespace: /proc/<pid>/exe, /proc/<pid>/map_files/<range> (privileged), the path inside the target's
// root directory, the path in ours. Whatever a way gives is only looked at (O_PATH) until it is known to
// be a regular file with the identity that maps states: no device or FIFO of the target's choice is ever opened.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/maps.h"

namespace ptrace_prof {

// A descriptor for reading. kNotFound: no way leads to it; kInvalidArgument: the region is not a file.
Result<UniqueFd> OpenMappedFile(Pid pid, const MemoryRegion& region);

}  // namespace ptrace_prof
