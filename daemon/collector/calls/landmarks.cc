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
    {"Optimizer.profile_hook_step.<locals>.wrapper", "/torch/optim/optimizer.py", Landmark::kStep},
    {"Optimizer._hook_for_profile.<locals>.profile_hook_step.<locals>.wrapper", "/torch/optim/optimizer.py",
     Landmark::kStep},
    {"wrapper", "/torch/optim/optimizer.py", Landmark::kStep},
    {"Optimizer._optimizer_step_code", "/torch/optim/optimizer.py", Landmark::kOptimizer},
    {"_optimizer_step_code", "/torch/optim/optimizer.py", Landmark::kOptimizer},
    // DeepSpeed steps its optimizer once for each part of the parameters.
    {"DeepSpeedEngine._take_model_step", "/deepspeed/runtime/engine.py", Landmark::kStep},
    {"_take_model_step", "/deepspeed/runtime/engine.py", Landmark::kStep},
};

Landmark MeaningOf(const Frame& frame) {
  for (const Row& row : kRows) {
    if (frame.function == row.function && frame.file.ends_with(row.file_end)) {
      return row.meaning;
    }
  }
  return Landmark::kNone;
}

}  // namespace

std::optional<Frame> Landmarks::Code(RemoteAddr code) {
  auto frame = objects_.Code(code);
  if (frame.has_value()) {
    found_(MeaningOf(*frame), code);
  }
  return frame;
}

}  // namespace ptrace_prof
