#include "daemon/collect/call_names.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNames = size_t{1} << 20;  // of each kind; a target may make up addresses

}  // namespace

FrameId CallNames::Intern(const std::optional<Frame>& frame, const char* unknown) {
  if (frame) {
    return stacks_.InternFrame(*frame);
  }
  Frame marker;
  marker.function = unknown;
  marker.kind = FrameKind::kMarker;
  return stacks_.InternFrame(marker);
}

// Ids of a cleared StackTable mean nothing.
void CallNames::CheckGeneration() {
  if (stacks_.generation() == generation_) {
    return;
  }
  generation_ = stacks_.generation();
  codes_.Clear();
  modules_.Clear();
  callables_.Clear();
  known_codes_.clear();
}

FrameId CallNames::OfCode(RemoteAddr code) {
  CheckGeneration();
  Name* name = codes_.Find(code.value);
  if (name != nullptr && name->known) {
    return name->function;
  }
  const FrameId function = Intern(objects_.Code(code), "[code that is gone]");
  if (name != nullptr) {
    *name = {function, true, true};
  } else if (codes_.size() < kMaxNames) {
    codes_.Insert(code.value, {function, true, true});
    known_codes_.push_back(code);
  }
  return function;
}

FrameId CallNames::OfModule(RemoteAddr code, RemoteAddr self) {
  CheckGeneration();
  const std::pair key(code.value, self.value);
  if (const Name* name = modules_.Find(key)) {
    return name->function;
  }
  const std::optional<Frame> frame = objects_.Module(code, self);
  const FrameId function = frame ? stacks_.InternFrame(*frame) : OfCode(code);
  if (modules_.size() < kMaxNames) {
    modules_.Insert(key, {function, true, true});
  }
  return function;
}

std::optional<FrameId> CallNames::OfCallable(RemoteAddr callable, RemoteAddr method) {
  CheckGeneration();
  // A C function is its PyMethodDef, which is static; the objects that carry it come and go.
  const std::pair key = method.IsNull() ? std::pair(callable.value, uint64_t{0}) : std::pair(uint64_t{0}, method.value);
  const Name* name = callables_.Find(key);
  if (name == nullptr) {
    const std::optional<Frame> frame = objects_.Callable(callable, method);
    const Name found{frame ? stacks_.InternFrame(*frame) : FrameId(), true, frame.has_value()};
    if (callables_.size() >= kMaxNames) {
      return found.is_shown ? std::optional(found.function) : std::nullopt;
    }
    name = callables_.Insert(key, found);
  }
  return name->is_shown ? std::optional(name->function) : std::nullopt;
}

void CallNames::Exclude(RemoteAddr code) {
  if (!IsExcluded(code) && excluded_.size() < kMaxNames) {
    excluded_.Insert(code.value, true);
  }
}

void CallNames::Revalidate() {
  CheckGeneration();
  changed_.clear();
  objects_.Changed(known_codes_, &changed_);
  for (const RemoteAddr code : changed_) {
    if (Name* name = codes_.Find(code.value)) {
      name->known = false;
    }
  }
  if (!changed_.empty()) {
    modules_.Clear();  // they hang on codes; few
  }
}

}  // namespace ptrace_prof
