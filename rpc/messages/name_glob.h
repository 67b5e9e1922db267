// A pattern for the names of functions, modules and files, as shells have them for files:
//
//   *  any text, also none      ?  one character      [a-z_]  one of these      [!a-z]  one, but none of these
//   \  the next character is meant literally
//
// It must match a whole name; * also matches dots and slashes. Names come from targets, so the time of a match is
// bounded: proportional to name times pattern at most. An immutable value.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace ptrace_prof {

class NameGlob {
 public:
  // kInvalidArgument says what is wrong with the pattern.
  static Result<NameGlob> Compile(std::string_view text);

  bool Matches(std::string_view name) const;
  const std::string& text() const { return text_; }

 private:
  explicit NameGlob(std::string_view text) : text_(text) {}

  std::string text_;
};

inline constexpr size_t kMaxGlobBytes = 256;

}  // namespace ptrace_prof
