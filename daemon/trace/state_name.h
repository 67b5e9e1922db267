// Short names of thread states, as the API and its clients write them.
#pragma once

#include <array>
#include <string_view>

#include "daemon/trace/model.h"

namespace ptrace_prof {

inline constexpr std::array<std::string_view, 7> kStateNames = {"unknown",  "running",   "gil-wait",   "idle",
                                                                "gpu-wait", "disk-wait", "job-stopped"};

constexpr std::string_view StateName(ThreadState state) {
  return kStateNames[static_cast<size_t>(state) % kStateNames.size()];
}

// kUnknown for an unknown name.
constexpr ThreadState StateNamed(std::string_view name) {
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == name) {
      return static_cast<ThreadState>(i);
    }
  }
  return ThreadState::kUnknown;
}

}  // namespace ptrace_prof
