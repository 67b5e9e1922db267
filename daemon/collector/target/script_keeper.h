// Makes the scripts for a target (attach/inject/script_files.h) for a collector that may not write files. It is a small
// process, forked before the collector is confined and before it reads a byte of the target.
//
// It runs as the target's user, without capabilities and behind its own system call filter, and writes only to the
// temporary directory of that one target. So it can do nothing that the target could not do itself. It ends when the
// collector closes the line. Call Start in a process with one thread; use the object in one thread.
#pragma once

#include <memory>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/script_files.h"

namespace ptrace_prof {

class ScriptKeeper final : public ScriptFiles {
 public:
  static Result<std::unique_ptr<ScriptKeeper>> Start(Pid target);
  ~ScriptKeeper() override;  // ends the process; a script that was not removed stays

  Result<std::string> Make() override;
  Result<void> Fill(std::string_view text) override;
  Result<uint32_t> Readers() override;
  Result<void> Remove() override;
  Result<bool> AnotherHasOne() override;
  Result<void> Empty() override;

 private:
  struct Answer;
  ScriptKeeper(UniqueFd line, Pid child) : line_(std::move(line)), child_(child) {}
  Result<Answer> Ask(char verb, std::string_view text = {});

  UniqueFd line_;
  Pid child_;
};

}  // namespace ptrace_prof
