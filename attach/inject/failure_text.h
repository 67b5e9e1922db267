// What a number that code in the target reported means to people.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "attach/base/reason.h"

namespace ptrace_prof {

struct FailureText {
  uint32_t number;
  Reason reason;
  std::string_view message;
  std::string_view remedy;
};

// Null: there is no text for that number.
inline const FailureText* FindFailureText(std::span<const FailureText> texts, uint32_t number) {
  const auto text = std::ranges::find(texts, number, &FailureText::number);
  return text == texts.end() ? nullptr : &*text;
}

}  // namespace ptrace_prof
