#include "daemon/collector/calls/call_names.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxCallNames = size_t{1} << 20;  // of each kind; a target may invent addresses
constexpr size_t kMaxFreed = kMaxCallNames / 2;
constexpr const char* kTooManyFunctions = "[too many functions]";
constexpr const char* kCacheClass = "functools._lru_cache_wrapper";

}  // namespace

CalledName CallNames::Intern(const std::optional<Frame>& frame, const char* unknown) {
  if (frame) {
    return {stacks_.InternFrame(*frame), filter_ != nullptr ? filter_->Weigh(*frame) : kShown};
  }
  Frame marker;
  marker.function = unknown;
  marker.kind = FrameKind::kMarker;
  return {stacks_.InternFrame(marker), kShown, true};
}

// Ids of a cleared StackTable are invalid.
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

// Checks a name that was not used in the last round.
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
    modules_.Clear();  // they depend on code objects; there are few
    return false;
  }
  name.checked = round_;
  return true;
}

CalledName CallNames::OfFormer(Kind kind, RemoteAddr code, uint64_t when) {
  auto* former = formers_.Find(code, when);
  if (former == nullptr || former->reported.is_type != (kind == Kind::kType)) {
    return Gone(kind);
  }
  if (!former->name) {
    const std::optional<Frame> frame = objects_.Freed(former->reported);
    former->name = frame ? Intern(frame, "") : Gone(kind);
  }
  return *former->name;
}

// Looks up its name. False: it was freed before or while it was read, or that is not known. Then the name may belong to
// another object.
bool CallNames::Look(Kind kind, RemoteAddr code, uint64_t when) {
  const std::optional<Frame> frame = kind == Kind::kCode ? objects_.Code(code) : objects_.Type(code);
  TakeFreed();
  Name* name = codes_.Find(code.value);
  if (name == nullptr) {  // all of them were dropped
    name = InsertCode(code);
  }
  const bool is_reported = freed_ == nullptr || freed_->is_reported();
  if (when < name->since || !is_reported) {
    objects_.Forget(code);
    return false;
  }
  name->name = frame ? Intern(frame, "") : Gone(kind);
  name->checked = round_;
  if (kind == Kind::kType) {
    return true;
  }
  if (bool* excluded = excluded_.Find(code.value)) {
    *excluded = false;  // that was another object
  }
  if (name->name.left_out != kShown && left_out_) {
    left_out_(code, name->name.left_out);
  }
  return true;
}

// The object may have come at any time since frees were last unknown.
CallNames::Name* CallNames::InsertCode(RemoteAddr code) { return codes_.Insert(code.value, {.since = sure_since_}); }

// Drops all names: until then, code may have been freed without a known report.
void CallNames::DropNames(uint64_t until) {
  codes_.Clear();
  formers_.Clear();
  modules_.Clear();
  used_.clear();
  objects_.ForgetAll();
  sure_since_ = until + 1;
}

void CallNames::EndTenancy(const FreedCode& freed) {
  objects_.Forget(freed.code);
  Name* name = codes_.Find(freed.code.value);
  if (name == nullptr && codes_.size() >= kMaxFreed) {  // most entries are addresses of freed code
    DropNames(freed.when);
  }
  if (name == nullptr) {
    name = InsertCode(freed.code);
  }
  const bool is_named = name->checked != 0;
  formers_.Add({.since = name->since,
                .until = freed.when + 1,
                .name = is_named ? std::optional(name->name) : std::nullopt,
                .reported = freed});
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
  if (uint64_t unsure = 0; !freed_->Take(&taken_, &unsure)) {
    DropNames(unsure);
  }
  for (const FreedCode& freed : taken_) {
    EndTenancy(freed);
  }
}

CalledName CallNames::OfCode(RemoteAddr code, uint64_t when) { return Of(Kind::kCode, code, when); }

CalledName CallNames::Of(Kind kind, RemoteAddr code, uint64_t when) {
  CheckGeneration();
  Name* name = codes_.Find(code.value);
  if (name == nullptr && codes_.size() >= kMaxCallNames) {
    return Intern(std::nullopt, kTooManyFunctions);
  }
  if (name == nullptr) {
    name = InsertCode(code);
  }
  if (when < name->since) {
    return OfFormer(kind, code, when);
  }
  if (name->used == round_) {
    return name->name;
  }
  const bool looks_anew = kind == Kind::kType && freed_ == nullptr;
  if (name->checked != round_ && (looks_anew || !IsStill(code, *name))) {
    if (!Look(kind, code, when)) {
      return OfFormer(kind, code, when);
    }
    name = codes_.Find(code.value);  // the map may have changed
  }
  name->used = round_;
  if (kind == Kind::kCode) {
    used_.push_back(code);
  }
  return name->name;
}

CalledName CallNames::OfModule(RemoteAddr code, RemoteAddr self, uint64_t when) {
  CheckGeneration();
  CalledName called = OfCode(code, when);  // checks that it is still the same
  Name* name = codes_.Find(code.value);
  if (name == nullptr || when < name->since) {
    return called;
  }
  name->has_modules = true;
  const std::pair key(code.value, self.value);
  if (const Name* module = modules_.Find(key)) {
    return module->name;
  }
  if (modules_.size() >= kMaxCallNames) {
    return called;
  }
  if (const std::optional<Frame> frame = objects_.Module(code, self)) {
    called.function = stacks_.InternFrame(*frame);
  }
  modules_.Insert(key, {.name = called});
  return called;
}

CalledName CallNames::NameMember(const std::string& owner, RemoteAddr method) {
  const std::optional<std::string> member =
      method.IsNull() ? std::optional<std::string>("__call__") : objects_.Method(method);
  if (!member) {
    return Intern(std::nullopt, "[C function that is gone]");
  }
  if (method.IsNull() && (owner == "function" || owner == "method")) {
    return {FrameId(), kNoCall};  // it reports itself
  }
  Frame frame;
  frame.function = owner + "." + *member;
  frame.kind = FrameKind::kC;
  return Intern(frame, "");
}

CalledName CallNames::NameWrapper(FrameId wrapped) {
  Frame frame;
  frame.function = "functools.lru_cache(" + stacks_.frame(wrapped).function + ")";
  frame.kind = FrameKind::kC;
  return Intern(frame, "");
}

// A method of a class, or an instance that is called.
CalledName CallNames::OfMember(const CalledThing& called, uint64_t when) {
  const CalledName owner = Of(Kind::kType, called.owner, when);
  if (owner.is_marker) {
    return owner;
  }
  uint64_t member = called.method.value;
  const bool is_wrapper = member != 0 && stacks_.frame(owner.function).function == kCacheClass;
  if (is_wrapper) {
    const CalledName code = Of(Kind::kCode, called.method, when);
    if (code.is_marker) {
      return code;
    }
    member = code.function.value;
  }
  const std::pair key(uint64_t{owner.function.value} + 1, member);
  const Name* name = callables_.Find(key);
  if (name == nullptr && callables_.size() >= kMaxCallNames) {
    return Intern(std::nullopt, kTooManyFunctions);
  }
  if (name == nullptr) {
    const std::string owner_name = stacks_.frame(owner.function).function;
    name = callables_.Insert(key, {.name = is_wrapper ? NameWrapper(FrameId(static_cast<uint32_t>(member)))
                                                      : NameMember(owner_name, called.method)});
  }
  return name->name;
}

CalledName CallNames::OfCallable(const CalledThing& called, uint64_t when) {
  CheckGeneration();
  if (called.method.IsNull()) {
    return called.owner.IsNull() ? Of(Kind::kType, called.callable, when) : OfMember(called, when);
  }
  // A C function is identified by its PyMethodDef, which is static; the objects that refer to it come and go.
  const std::pair key(uint64_t{0}, called.method.value);
  if (!called.owner.IsNull()) {
    const CalledName name = OfMember(called, when);
    Name* known = callables_.Find(key);
    if (known == nullptr && callables_.size() < kMaxCallNames) {
      known = callables_.Insert(key, {});
    }
    if (known != nullptr && !name.is_marker) {
      known->name = name;
    }
    return name;
  }
  const Name* known = callables_.Find(key);
  if (known == nullptr && callables_.size() >= kMaxCallNames) {
    return Intern(std::nullopt, kTooManyFunctions);
  }
  if (known == nullptr) {
    const std::optional<Frame> frame = objects_.Callable(called.callable, called.method);
    known = callables_.Insert(key, {.name = frame ? Intern(frame, "") : CalledName{FrameId(), kNoCall}});
  }
  return known->name;
}

void CallNames::Exclude(RemoteAddr code) {
  if (bool* excluded = excluded_.Find(code.value)) {
    *excluded = true;
  } else if (excluded_.size() < kMaxCallNames) {
    excluded_.Insert(code.value, true);
  }
}

// Checks the names used in the last round, all together.
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
    modules_.Clear();  // there are few
  }
}

}  // namespace ptrace_prof
