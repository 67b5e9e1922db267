// A source file of the target, to be shown: found as the target sees it, where we may look there, else by its plain
// path.
//
// The path is the target's and hostile: only regular files are opened (no device, no pipe), of bounded size, with our
// own rights; an absolute path is followed below the target's root, and no link leads out of it. Lines come printable,
// tabs expanded. Stateless.
#pragma once

#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct SourceFile {
  std::string where;               // how it was found, for people; printable
  std::vector<std::string> lines;  // [0] is line 1
};

inline constexpr size_t kMaxSourceBytes = 4 << 20;

// `process`: whose view of the file system counts. The error says why there is no source to show.
Result<SourceFile> ReadSourceFile(Pid process, const std::string& path);

}  // namespace ptrace_prof
