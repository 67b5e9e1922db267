// An extended regular expression (as of grep -E) that is searched in command lines. Owns the compiled form.
#pragma once

#include <regex.h>

#include <memory>
#include <string>

#include "attach/base/result.h"

namespace ptrace_prof {

class CommandPattern {
 public:
  // An empty text matches everything. kInvalidArgument says what is wrong with the pattern.
  static Result<CommandPattern> Compile(const std::string& text);

  bool Matches(const std::string& command) const;

 private:
  struct Release {
    void operator()(regex_t* compiled) const;
  };
  std::unique_ptr<regex_t, Release> compiled_;  // null: matches everything
};

}  // namespace ptrace_prof
