#include "daemon/collector/calls/landmarks.h"

#include <string_view>

namespace ptrace_prof {
namespace {

// Matches the function's name, with and without qualified names (before 3.11 there are none), and the end of the path
// of its file.
struct Row {
  std::string_view function;
  std::string_view file_end;
  Landmark meaning;
};
constexpr Row kRows[] = {
    {"Module._wrapped_call_impl", "/torch/nn/modules/module.py", Landmark::kModuleCall},
    {"_wrapped_call_impl", "/torch/nn/modules/module.py", Landmark::kModuleCall},
    {"Module._call_impl", "/torch/nn/modules/module.py", Landmark::kInnerModuleCall},
    {"_call_impl", "/torch/nn/modules/module.py", Landmark::kInnerModuleCall},
    // Wraps the step of every optimizer (torch/optim/optimizer.py, profile_hook_step).
    {"Optimizer.profile_hook_step.<locals>.wrapper", "/torch/optim/optimizer.py", Landmark::kOptimizerStep},
    {"Optimizer._hook_for_profile.<locals>.profile_hook_step.<locals>.wrapper", "/torch/optim/optimizer.py",
     Landmark::kOptimizerStep},
    {"wrapper", "/torch/optim/optimizer.py", Landmark::kOptimizerStep},
};

}  // namespace

std::optional<Frame> Landmarks::Code(RemoteAddr code) {
  auto frame = objects_.Code(code);
  if (frame.has_value()) {
    for (const Row& row : kRows) {
      if (frame->function == row.function && frame->file.ends_with(row.file_end)) {
        found_(row.meaning, code);
      }
    }
  }
  return frame;
}

}  // namespace ptrace_prof
