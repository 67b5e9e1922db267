// Makes the scripts for a target (attach/inject/script_files.h) in the name of a collector that may write no file: a
// small process of its own, forked before the collector is confined and before it reads a byte of the target.
//
// It can do this one thing, in the temporary directory of that one target, as the target's own user, without any
// capability and behind a filter of its own: nothing that the target could not do itself. It ends with the collector's
// end of the line. Start from a process with one thread; the rest belongs to one thread too.
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
  ~ScriptKeeper() override;  // it ends; what it made last stays if it was not removed

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
