// The names by which a pattern may match a function of a target: its qualified name ("Trainer.step"; before
// CPython 3.11 code has only its bare name), its module ("torch.nn.modules.linear"), both together
// ("torch.nn.modules.linear.Linear.forward") or its file.
//
// Leading folders of modules and files may be missing ("modules.linear", "linear.py"). A value; the frame must outlive
// it.
#pragma once

#include <string>
#include <string_view>

#include "daemon/trace/stack_table.h"
#include "rpc/messages/name_glob.h"

namespace ptrace_prof {

class FunctionNames {
 public:
  explicit FunctionNames(const Frame& frame);

  // By any of its names.
  bool Match(const NameGlob& glob) const;
  // By its qualified name, alone or with its module: all functions of a module or file are not meant.
  bool MatchFunction(const NameGlob& glob) const { return glob.Matches(function_) || MatchesWhole(glob); }

 private:
  bool MatchesWhole(const NameGlob& glob) const;

  std::string_view function_;
  std::string_view file_;
  std::string module_;
  std::string whole_;
  size_t folders_ = 0;
};

}  // namespace ptrace_prof
