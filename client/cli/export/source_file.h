// Reads a source file of the target to show it: through the target's view of the file system if we may access that,
// else by its plain path.
//
// The path is the target's and hostile. So only regular files of bounded size are opened (no device, no pipe), with our
// own rights. An absolute path is resolved below the target's root, and no link leads out of it. Lines are made
// printable, with tabs expanded. Stateless.
#pragma once

#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct SourceFile {
  std::string where;               // a printable description of how the file was found
  std::vector<std::string> lines;  // [0] is line 1
};

inline constexpr size_t kMaxSourceBytes = 4 << 20;

// `process`: the process whose view of the file system is used. The error says why there is no source.
Result<SourceFile> ReadSourceFile(Pid process, const std::string& path);

}  // namespace ptrace_prof
