#include "daemon/collect/call_names.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNames = size_t{1} << 20;  // of each kind; a target may make up addresses
constexpr size_t kMaxFreed = kMaxNames / 2;
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
  formers_.Clear();
  modules_.Clear();
  callables_.Clear();
  used_.clear();
}

// Checks one that was not used in the last round.
bool CallNames::IsStill(RemoteAddr code, Name& name) {
  if (name.checked == 0) {
    return false;
  }
  if (freed_ != nullptr) {
    name.checked = round_;
    return true;
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

CalledName CallNames::OfFormer(RemoteAddr code, uint64_t when) {
  auto* former = formers_.Find(code, when);
  if (former == nullptr) {
    return Gone();
  }
  if (!former->name) {
    const std::optional<Frame> frame = objects_.Freed(former->told);
    former->name = frame ? Intern(frame, "") : Gone();
  }
  return *former->name;
}

// Gives it a name. False: it went while it was being read, or before; what was read may be somebody else's.
bool CallNames::Look(RemoteAddr code, uint64_t when) {
  const std::optional<Frame> frame = objects_.Code(code);
  TakeFreed();
  Name* name = codes_.Find(code.value);
  if (name == nullptr) {  // all of them were dropped
    name = codes_.Insert(code.value, {});
  }
  if (freed_ != nullptr && (when < name->since || when <= unsure_until_)) {
    objects_.Forget(code);
    return false;
  }
  name->name = frame ? Intern(frame, "") : Gone();
  name->checked = round_;
  if (bool* excluded = excluded_.Find(code.value)) {
    *excluded = false;  // that was another one
  }
  if (name->name.left_out != kShown && left_out_) {
    left_out_(code, name->name.left_out);
  }
  return true;
}

// Of code that was at some place until then nobody knows whether it was still there.
void CallNames::DropNames(uint64_t until) {
  codes_.Clear();
  formers_.Clear();
  modules_.Clear();
  used_.clear();
  objects_.ForgetAll();
  unsure_until_ = until;
}

void CallNames::EndTenancy(const FreedCode& freed) {
  objects_.Forget(freed.code);
  Name* name = codes_.Find(freed.code.value);
  if (name == nullptr && codes_.size() >= kMaxFreed) {  // most of them are where code was once
    DropNames(freed.when);
  }
  if (name == nullptr) {
    name = codes_.Insert(freed.code.value, {});
  }
  const bool is_named = name->checked != 0;
  const uint64_t known_since = is_named || unsure_until_ == 0 ? 0 : unsure_until_ + 1;
  formers_.Add({.since = std::max(name->since, known_since),
                .until = freed.when + 1,
                .name = is_named ? std::optional(name->name) : std::nullopt,
                .told = freed});
  if (name->has_modules) {
    modules_.Clear();
  }
  *name = {.since = std::max(name->since, freed.when + 1)};
}

void CallNames::TakeFreed() {
  if (freed_ == nullptr || !freed_->HasMore()) {
    return;
  }
  taken_.clear();
  if (!freed_->Take(&taken_)) {
    DropNames(freed_->LastTold());
  }
  for (const FreedCode& freed : taken_) {
    EndTenancy(freed);
  }
}

CalledName CallNames::OfCode(RemoteAddr code, uint64_t when) {
  CheckGeneration();
  Name* name = codes_.Find(code.value);
  if (name == nullptr && codes_.size() >= kMaxNames) {
    return Intern(std::nullopt, kTooMany);
  }
  if (name != nullptr && when < name->since) {
    return OfFormer(code, when);
  }
  if (name != nullptr && name->used == round_) {
    return name->name;
  }
  if (name == nullptr) {
    name = codes_.Insert(code.value, {});
  }
  if (name->checked != round_ && !IsStill(code, *name)) {
    if (!Look(code, when)) {
      return OfFormer(code, when);
    }
    name = codes_.Find(code.value);  // others may have come
  }
  name->used = round_;
  used_.push_back(code);
  return name->name;
}

CalledName CallNames::OfModule(RemoteAddr code, RemoteAddr self, uint64_t when) {
  CheckGeneration();
  CalledName called = OfCode(code, when);  // which looks whether it is still the same
  Name* name = codes_.Find(code.value);
  if (name == nullptr || when < name->since) {
    return called;
  }
  name->has_modules = true;
  const std::pair key(code.value, self.value);
  if (const Name* module = modules_.Find(key)) {
    return module->name;
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

// Those of the last round, all together.
void CallNames::CompareUsed() {
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
}

void CallNames::Revalidate() {
  CheckGeneration();
  ++round_;
  changed_.clear();
  TakeFreed();
  if (freed_ == nullptr) {
    CompareUsed();
  }
  used_.clear();
  if (objects_.ModulesMoved() || !changed_.empty()) {
    modules_.Clear();  // few
  }
}

}  // namespace ptrace_prof
