#include "daemon/collect/call_names.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNames = size_t{1} << 20;  // of each kind; a target may make up addresses
constexpr const char* kTooMany = "[too many functions]";

}  // namespace

CalledName CallNames::Intern(const std::optional<Frame>& frame, const char* unknown) {
  if (frame) {
    return {stacks_.InternFrame(*frame), filter_ != nullptr ? filter_->Weigh(*frame) : kShown};
  }
  Frame marker;
  marker.function = unknown;
  marker.kind = FrameKind::kMarker;
  return {stacks_.InternFrame(marker)};
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
  used_.clear();
}

// Checks one that was not used in the last round.
bool CallNames::IsStill(RemoteAddr code, Name& name) {
  if (name.checked == 0) {
    return false;
  }
  asked_.assign(1, code);
  changed_.clear();
  objects_.Changed(asked_, &changed_);
  if (!changed_.empty()) {
    modules_.Clear();  // they hang on codes; few
    return false;
  }
  name.checked = round_;
  return true;
}

CalledName CallNames::OfCode(RemoteAddr code) {
  CheckGeneration();
  Name* name = codes_.Find(code.value);
  if (name == nullptr && codes_.size() >= kMaxNames) {
    return Intern(std::nullopt, kTooMany);
  }
  if (name != nullptr && name->used == round_) {
    return name->name;
  }
  if (name == nullptr) {
    name = codes_.Insert(code.value, {});
  }
  if (name->checked != round_ && !IsStill(code, *name)) {
    name->name = Intern(objects_.Code(code), "[code that is gone]");
    name->checked = round_;
    if (bool* excluded = excluded_.Find(code.value)) {
      *excluded = false;  // that was another one
    }
    if (name->name.left_out != kShown && left_out_) {
      left_out_(code, name->name.left_out);
    }
  }
  name->used = round_;
  used_.push_back(code);
  return name->name;
}

CalledName CallNames::OfModule(RemoteAddr code, RemoteAddr self) {
  CheckGeneration();
  CalledName called = OfCode(code);  // which looks whether it is still the same
  const std::pair key(code.value, self.value);
  if (const Name* name = modules_.Find(key)) {
    return name->name;
  }
  if (modules_.size() >= kMaxNames) {
    return called;
  }
  if (const std::optional<Frame> frame = objects_.Module(code, self)) {
    called.function = stacks_.InternFrame(*frame);
  }
  modules_.Insert(key, {.name = called});
  return called;
}

CalledName CallNames::OfCallable(RemoteAddr callable, RemoteAddr method) {
  CheckGeneration();
  // A C function is its PyMethodDef, which is static; the objects that carry it come and go.
  const std::pair key = method.IsNull() ? std::pair(callable.value, uint64_t{0}) : std::pair(uint64_t{0}, method.value);
  const Name* name = callables_.Find(key);
  if (name == nullptr && callables_.size() >= kMaxNames) {
    return Intern(std::nullopt, kTooMany);
  }
  if (name == nullptr) {
    const std::optional<Frame> frame = objects_.Callable(callable, method);
    const CalledName found = frame ? Intern(frame, "") : CalledName{FrameId(), kNoCall};
    name = callables_.Insert(key, {.name = found});
  }
  return name->name;
}

void CallNames::Exclude(RemoteAddr code) {
  if (bool* excluded = excluded_.Find(code.value)) {
    *excluded = true;
  } else if (excluded_.size() < kMaxNames) {
    excluded_.Insert(code.value, true);
  }
}

void CallNames::Revalidate() {
  CheckGeneration();
  ++round_;
  changed_.clear();
  objects_.Changed(used_, &changed_);
  for (const RemoteAddr code : used_) {
    if (Name* name = codes_.Find(code.value)) {
      name->checked = round_;
    }
  }
  for (const RemoteAddr code : changed_) {
    if (Name* name = codes_.Find(code.value)) {
      name->checked = 0;
    }
  }
  used_.clear();
  if (objects_.ModulesMoved() || !changed_.empty()) {
    modules_.Clear();  // few
  }
}

}  // namespace ptrace_prof
