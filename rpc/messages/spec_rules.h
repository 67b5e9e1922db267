// The rules of a CaptureSpec that involve more than one field.
#pragma once

#include <string_view>
#include <vector>

#include "rpc/messages/option_table.h"

namespace ptrace_prof {

struct SpecRule {
  bool (*is_broken)(const v1::CaptureSpec&);
  std::vector<std::string_view> paths;  // the options involved: {0}, {1} … in the sentences
  std::string_view sentence;
  std::string_view remedy;
};

const std::vector<SpecRule>& SpecRules();

}  // namespace ptrace_prof
