// A Python text in a file that the target can open: for targets that are asked to run a script, and have nothing else
// of ours yet.
//
// One file at a time, in the target's own temporary directory, made from outside through its root. The file has mode
// 0600, is new (O_EXCL), belongs to the target's user, and has a name that begins with ScriptPrefix(). Each reader
// appends a byte to it (bootstrap_text.h), so readers can be counted. A record lock shows that its maker is alive. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// "ptrace-prof.<pid>.<start ticks>.": common prefix of all files made for this process, by any collector. kGone.
Result<std::string> ScriptPrefix(Pid pid);

class ScriptFiles {
 public:
  virtual ~ScriptFiles() = default;
  ScriptFiles(const ScriptFiles&) = delete;
  ScriptFiles& operator=(const ScriptFiles&) = delete;

  // Makes an empty file; returns its path as seen inside the target. kPermissionDenied: the target could not open it.
  // kUnavailable: the target has no directory for such files.
  virtual Result<std::string> Make() = 0;
  virtual Result<void> Fill(std::string_view text) = 0;
  // The number of threads that have read it.
  virtual Result<uint32_t> Readers() = 0;
  // Removes this file, and those that killed collectors left. No thread may be asked to run it any more.
  virtual Result<void> Remove() = 0;
  // Whether another live collector has such a file.
  virtual Result<bool> AnotherHasOne() = 0;
  // Empties a file that a thread may still run: it then does nothing.
  virtual Result<void> Empty() = 0;

 protected:
  ScriptFiles() = default;
};

// Makes the files in this process.
class ScriptFolder final : public ScriptFiles {
 public:
  explicit ScriptFolder(Pid pid) : pid_(pid) {}
  ~ScriptFolder() override = default;

  // Finds the root of the target and its temporary directories. Only this needs rights over the target. Functions
  // that need it call it themselves.
  Result<void> Open();

  Result<std::string> Make() override;
  Result<void> Fill(std::string_view text) override;
  Result<uint32_t> Readers() override;
  Result<void> Remove() override;
  Result<bool> AnotherHasOne() override;
  Result<void> Empty() override;

 private:
  // Makes the file in `folder`.
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
