#include "daemon/trace/state_label.h"

#include <array>

namespace ptrace_prof {
namespace {

constexpr std::array<std::string_view, kThreadStateCount> kLabels = {
    "unknown", "running", "waiting for the GIL", "idle", "waiting for the GPU", "waiting for a disk", "job-stopped",
};

}  // namespace

std::string StateLabel(const StateInfo& info) {
  const auto index = static_cast<size_t>(info.state);
  std::string label(kLabels[index < kLabels.size() ? index : 0]);
  if (!info.detail.empty()) {
    label += ": ";
    label += info.detail;
  }
  if (info.holds_gil) {
    label += " (holds the GIL)";
  }
  return label;
}

}  // namespace ptrace_prof
