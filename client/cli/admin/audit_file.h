// Follows a file of lines that another program appends to, even if the file is truncated or replaced (logrotate, with
// or without copytruncate). Owns its descriptor. Single-threaded; never blocks.
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
  // Passes every complete line, without its newline, to `show`, up to the current end of the file. If the file was
  // truncated or replaced, the next call begins at the start of the new content. `show` returns false to stop.
  using Show = std::function<bool(std::string_view line)>;
  Result<Change> ReadOn(const Show& show);
  // What follows the last complete line.
  const std::string& rest() const { return rest_; }

 private:
  AuditFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<bool> ReadToEnd(const Show& show);  // returns false if `show` stopped it
  bool Take(std::string_view bytes, const Show& show);
  bool IsCutShort() const;
  bool IsReplaced() const;
  bool BeginAgain(const Show& show);

  std::string path_;
  UniqueFd fd_;
  int64_t offset_ = 0;
  std::string rest_;
  std::string last_;  // the last bytes that were read; they differ in the file if it was rewritten
};

}  // namespace ptrace_prof
