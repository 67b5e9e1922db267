// The file behind a mapping of another process, opened so that it is that file and no other.
//
// Four ways are tried in this order, because the target controls the name in maps, and the file may be deleted,
// replaced, or seen from another mount namespace: /proc/<pid>/exe, /proc/<pid>/map_files/<range> (privileged), the path
// inside the target's root directory, the path in ours. The result is opened with O_PATH until it is known to be a
// regular file with the identity in maps, so no device or FIFO of the target's choice is ever opened.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/maps.h"

namespace ptrace_prof {

// Returns a descriptor for reading. kNotFound: no way leads to it; kInvalidArgument: the region is not a file.
Result<UniqueFd> OpenMappedFile(Pid pid, const MemoryRegion& region);

}  // namespace ptrace_prof
