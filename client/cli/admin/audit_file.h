// A file of lines that another program appends to, and that may be cut short or replaced meanwhile (logrotate, with
// copytruncate and without). Owns its descriptor. Single-threaded; never blocks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class AuditFile {
 public:
  static Result<AuditFile> Open(const std::string& path);

  enum class Change : uint8_t { kNone, kCutShort, kReplaced };
  // Shows every whole line, without its end, up to where the file ends now. Afterwards what follows is read from where
  // the file, or the one that came in its place, begins, if it changed.
  // `show` says false when it wants no more.
  using Show = std::function<bool(std::string_view line)>;
  Result<Change> ReadOn(const Show& show);
  // What stands behind the last whole line.
  const std::string& rest() const { return rest_; }

 private:
  AuditFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<bool> ReadToEnd(const Show& show);  // false: no more is wanted
  bool Take(std::string_view bytes, const Show& show);
  bool IsCutShort() const;
  bool IsReplaced() const;
  bool BeginAgain(const Show& show);

  std::string path_;
  UniqueFd fd_;
  int64_t offset_ = 0;
  std::string rest_;
  std::string last_;  // the last bytes that were read: they are still there unless the file was written anew
};

}  // namespace ptrace_prof
