#include "daemon/collector/torch/torch_classes.h"

#include <algorithm>
#include <string_view>

#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

struct Base {
  std::string_view module;
  std::string_view name;
  TorchKind kind;
};
constexpr Base kBases[] = {{"torch._tensor", "Tensor", TorchKind::kTensor},
                           {"torch.nn.modules.module", "Module", TorchKind::kModule},
                           {"torch.optim.optimizer", "Optimizer", TorchKind::kOptimizer}};

// PyTypeObject: from tp_flags to tp_mro (Include/cpython/object.h, the same in all versions).
constexpr uint32_t kMroBehindFlags = 176;
constexpr size_t kMaxMro = 256;
constexpr size_t kMaxTypes = 1 << 16;

// Py_TPFLAGS_*_SUBCLASS (Include/object.h).
struct Builtin {
  uint32_t flag;
  TorchKind kind;
};
constexpr Builtin kBuiltins[] = {{uint32_t{1} << 24, TorchKind::kPlain},  // int
                                 {uint32_t{1} << 25, TorchKind::kList},  {uint32_t{1} << 26, TorchKind::kTuple},
                                 {uint32_t{1} << 27, TorchKind::kPlain},  // bytes
                                 {uint32_t{1} << 28, TorchKind::kPlain},  // str
                                 {uint32_t{1} << 29, TorchKind::kDict},  {uint32_t{1} << 31, TorchKind::kPlain}};
constexpr std::string_view kPlainTypes[] = {"function", "module", "float", "NoneType", "builtin_function_or_method"};

}  // namespace

std::optional<TorchClasses> TorchClasses::Find(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter) {
  TorchClasses classes(memory, layout);
  for (const Base& base : kBases) {
    const auto module = FindModule(memory, layout, interpreter, base.module);
    if (const auto type = module ? FindAttribute(classes.reader_, *module, base.name) : std::nullopt) {
      classes.bases_.emplace(*type, base.kind);
    }
  }
  const bool has_tensors =
      std::ranges::any_of(classes.bases_, [](const auto& base) { return base.second == TorchKind::kTensor; });
  return has_tensors ? std::optional(std::move(classes)) : std::nullopt;
}

TorchKind TorchClasses::KindOf(RemoteAddr object) {
  RemoteAddr type;
  if (memory_.ReadValue(object + layout_.object_type, &type.value) != ReadStatus::kOk || type.IsNull()) {
    return TorchKind::kPlain;
  }
  if (const auto known = types_.find(type); known != types_.end()) {
    return known->second;
  }
  const TorchKind kind = KindOfType(type);
  if (types_.size() < kMaxTypes) {
    types_.emplace(type, kind);
  }
  return kind;
}

TorchKind TorchClasses::KindOfType(RemoteAddr type) {
  RemoteAddr mro;
  uint64_t flags = 0;
  if (memory_.ReadValue(type + layout_.type_flags, &flags) != ReadStatus::kOk ||
      memory_.ReadValue(type + layout_.type_flags + kMroBehindFlags, &mro.value) != ReadStatus::kOk || mro.IsNull()) {
    return TorchKind::kPlain;
  }
  const auto bases = reader_.ReadTuple(mro, kMaxMro);
  for (const RemoteAddr base : bases.value_or(std::vector<RemoteAddr>())) {
    if (const auto found = bases_.find(base); found != bases_.end()) {
      return found->second;
    }
  }
  for (const Builtin& builtin : kBuiltins) {
    if ((flags & builtin.flag) != 0) {
      return builtin.kind;
    }
  }
  const std::string name = reader_.ReadNameOfType(type).value_or("");
  return std::ranges::find(kPlainTypes, name) != std::end(kPlainTypes) ? TorchKind::kPlain : TorchKind::kOther;
}

}  // namespace ptrace_prof
