// The words for verdicts, in text and in JSON.
#pragma once

#include <string_view>

#include "daemon/trace/check.h"

namespace ptrace_prof {

constexpr std::string_view VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kLimited: return "limited";
    case Verdict::kMissing: return "missing";
  }
  return "missing";
}

}  // namespace ptrace_prof
