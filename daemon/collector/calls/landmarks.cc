#include "daemon/collector/calls/landmarks.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "daemon/collector/calls/function_names.h"

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

}  // namespace

Landmarks::Landmarks(CalledObjects& objects, const v1::TraceOptions& asked,
                     std::function<void(Landmark, RemoteAddr code)> found)
    : objects_(objects), found_(std::move(found)) {
  for (const std::string& text : asked.step_function()) {
    if (auto glob = NameGlob::Compile(text); glob.has_value()) {
      step_functions_.push_back(std::move(glob).value());
    }
  }
}

Landmark Landmarks::MeaningOf(const Frame& function) const {
  if (!step_functions_.empty()) {
    const FunctionNames names(function);
    if (std::ranges::any_of(step_functions_, [&](const NameGlob& glob) { return names.MatchFunction(glob); })) {
      return Landmark::kStep;
    }
  }
  const auto row = std::ranges::find_if(kRows, [&](const Row& one) {
    return function.function == one.function && function.file.ends_with(one.file_end);
  });
  const bool is_left_out = row == std::end(kRows) || (row->meaning == Landmark::kStep && !step_functions_.empty());
  return is_left_out ? Landmark::kNone : row->meaning;
}

std::optional<Frame> Landmarks::Code(RemoteAddr code) {
  auto frame = objects_.Code(code);
  if (frame.has_value()) {
    found_(MeaningOf(*frame), code);
  }
  return frame;
}

}  // namespace ptrace_prof
