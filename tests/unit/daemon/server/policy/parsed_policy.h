// A policy from its text, which must be right.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "daemon/server/policy/policy_file.h"

namespace ptrace_prof {

inline Policy Parsed(std::string_view text) {
  auto policy = ParsePolicy(text, "p.toml");
  EXPECT_TRUE(policy.has_value()) << policy.error().message;
  return policy.has_value() ? std::move(policy).value() : Policy();
}

}  // namespace ptrace_prof
