// A pattern for the names of functions, modules and files, as shells have them for files:
//
//   *  any text, also none      ?  one character      [a-z_]  one of these      [!a-z]  one, but none of these
//   \  the next character is meant as it stands
//
// It stands for a whole name, and * also for what has a dot or a slash in it. A match takes time in proportion to
// name times pattern at most, whatever they are: names come from targets. A value; pure.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace ptrace_prof {

class NameGlob {
 public:
  // kInvalidArgument says what is wrong with it.
  static Result<NameGlob> Compile(std::string_view text);

  bool Matches(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  explicit NameGlob(std::string_view text) : text_(text) {}

  std::string text_;
};

inline constexpr size_t kMaxGlobBytes = 256;

}  // namespace ptrace_prof
