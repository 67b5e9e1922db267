// A text of Python as a file that a target can open: for targets that are asked to run a script, which have nothing
// else of ours yet.
//
// One file at a time, in the temporary directory of the target itself, made from outside through its root: 0600, new
// (O_EXCL), of the user that the target is, its name beginning with ScriptPrefix(). Whoever reads it adds a byte to it
// (bootstrap_text.h), so that it is known how many have. A record lock says that its maker lives. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// "ptrace-prof.<pid>.<start ticks>.": of all that are made for this process, by any collector. kGone.
Result<std::string> ScriptPrefix(Pid pid);

class ScriptFiles {
 public:
  virtual ~ScriptFiles() = default;
  ScriptFiles(const ScriptFiles&) = delete;
  ScriptFiles& operator=(const ScriptFiles&) = delete;

  // An empty file; the path as the target sees it. kPermissionDenied: the target would not be let to it.
  // kUnavailable: it has no directory for such files.
  virtual Result<std::string> Make() = 0;
  virtual Result<void> Fill(std::string_view text) = 0;
  // How many have read it.
  virtual Result<uint32_t> Readers() = 0;
  // This one, and what collectors that were killed have left of theirs. Nobody may be asked to run it any more.
  virtual Result<void> Remove() = 0;
  // Whether another collector that is at work has one.
  virtual Result<bool> AnotherHasOne() = 0;
  // For a file that somebody may still run: then it does nothing.
  virtual Result<void> Empty() = 0;

 protected:
  ScriptFiles() = default;
};

// By this very process.
class ScriptFolder final : public ScriptFiles {
 public:
  explicit ScriptFolder(Pid pid) : pid_(pid) {}
  ~ScriptFolder() override = default;

  // Looks up the root of the target and where it has its temporary files: all that may take a right over the target.
  // What is asked first does so by itself.
  Result<void> Open();

  Result<std::string> Make() override;
  Result<void> Fill(std::string_view text) override;
  Result<uint32_t> Readers() override;
  Result<void> Remove() override;
  Result<bool> AnotherHasOne() override;
  Result<void> Empty() override;

 private:
  // Of the first directory in which it can be made.
  Result<std::string> MakeIn(const std::string& folder);
  Result<std::vector<UniqueFd>> OpenFolders();

  Pid pid_;
  UniqueFd root_;
  std::vector<std::string> paths_;
  std::string prefix_;
  UniqueFd folder_;
  std::string name_;
  UniqueFd file_;
  uint64_t size_ = 0;
};

}  // namespace ptrace_prof
