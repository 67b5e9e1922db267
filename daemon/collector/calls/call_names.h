// The names of a traced target's calls: maps addresses of code objects and callables to functions of the StackTable,
// each looked up in the target once, and says whether a filter leaves them out.
//
// One per traced process, shared by the replayers of its threads; one thread. An address may get a new object. If the
// target reports the code objects and classes that it frees, with their names (WatchFreed), a name is valid for the
// events between two such moments. A name that was read too late, or after these reports ended, is not used. ("Code" in
// names here includes classes.)
//
// Without such reports, each code object is checked once after each Revalidate (call it before a drain) before its name
// is used again, those of the last drain all together. Code that replaces other code within one drain gets the wrong
// name. Does not know CPython; CalledObjects does. What cannot be read any more becomes a marker, not an error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "attach/inject/freed_code_reader.h"
#include "daemon/collector/calls/call_filter.h"
#include "daemon/collector/target/former_code.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

// Reads the target's objects.
class CalledObjects {
 public:
  virtual ~CalledObjects() = default;
  virtual std::optional<Frame> Code(RemoteAddr code) = 0;
  // A call of a code object of nn.Module, on the module `self`.
  virtual std::optional<Frame> Module(RemoteAddr code, RemoteAddr self) = 0;
  // Whether names given by Module have changed since the last call.
  virtual bool ModulesMoved() { return false; }
  // A function of a module, by its PyMethodDef.
  virtual std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr method) = 0;
  // Type: the name of a class. Method: the name of a method alone, by its PyMethodDef.
  virtual std::optional<Frame> Type(RemoteAddr /*type*/) { return std::nullopt; }
  virtual std::optional<std::string> Method(RemoteAddr /*method*/) { return std::nullopt; }
  // Appends the addresses that no longer hold the object that Code described.
  virtual void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) = 0;
  // Another object may be there now.
  virtual void Forget(RemoteAddr /*code*/) {}
  virtual void ForgetAll() {}
  // The name from the target's report.
  virtual std::optional<Frame> Freed(const FreedCode& /*freed*/) { return std::nullopt; }
};

// What a C_CALL says about the called object; see PP_TAG_CODE and PP_TAG_SELF.
struct CalledThing {
  RemoteAddr callable;
  RemoteAddr method;  // null: not a C function, but a class or an instance
  RemoteAddr owner;   // null: none, or reported before; without `method`: class of the instance
};

struct CalledName {
  FrameId function;
  LeftOutBy left_out = kShown;
  bool is_marker = false;  // stands for a name that is not available
};

class CallNames {
 public:
  using OnLeftOut = std::function<void(RemoteAddr code, LeftOutBy by)>;

  // All arguments must outlive it; the StackTable may be cleared. Without a filter everything is shown. `left_out` is
  // called for each code object that is left out when it gets its name, and again if the code object is created anew.
  CallNames(StackTable& stacks, CalledObjects& objects, CallFilter* filter = nullptr, OnLeftOut left_out = {})
      : stacks_(stacks), objects_(objects), filter_(filter), left_out_(std::move(left_out)) {}

  // Call before the first name is requested. `freed` must outlive this object, unless the target reports nothing.
  void WatchFreed(FreedCodeReader& freed) { freed_ = freed.is_reported() ? &freed : nullptr; }

  // `when`: time of the event, in the target's ticks.
  CalledName OfCode(RemoteAddr code, uint64_t when);
  CalledName OfModule(RemoteAddr code, RemoteAddr self, uint64_t when);
  CalledName OfCallable(const CalledThing& called, uint64_t when);

  // Counts a call that is not shown.
  void CountLeftOut(LeftOutBy by) {
    if (filter_ != nullptr) {
      filter_->CountCall(by);
    }
  }

  // Functions whose events were switched off. Some of their events still come and are ignored.
  void Exclude(RemoteAddr code);
  bool IsExcluded(RemoteAddr code) const {
    const bool* excluded = excluded_.size() == 0 ? nullptr : excluded_.Find(code.value);
    return excluded != nullptr && *excluded;
  }

  void Revalidate();
  // Reads what was freed until now. Call it often enough, or some reports are lost.
  void TakeFreed();

 private:
  struct AddressHash {
    uint64_t operator()(uint64_t address) const { return MixHash(address, 0); }
  };
  struct PairHash {
    uint64_t operator()(const std::pair<uint64_t, uint64_t>& pair) const { return MixHash(pair.first, pair.second); }
  };
  struct Name {
    CalledName name;
    uint32_t checked = 0;  // round of the last check of its object; 0: look it up again
    uint32_t used = 0;     // round of the last use
    uint64_t since = 0;    // earlier events belong to a former object
    bool has_modules = false;
  };
  enum class Kind : uint8_t { kCode, kType };

  CalledName Intern(const std::optional<Frame>& frame, const char* unknown);
  CalledName Gone(Kind kind) {
    return Intern(std::nullopt, kind == Kind::kCode ? "[code that is gone]" : "[class that is gone]");
  }
  CalledName Of(Kind kind, RemoteAddr code, uint64_t when);
  CalledName OfFormer(Kind kind, RemoteAddr code, uint64_t when);
  CalledName OfMember(const CalledThing& called, uint64_t when);
  CalledName NameMember(const std::string& owner, RemoteAddr method);
  CalledName NameWrapper(FrameId wrapped);
  bool Look(Kind kind, RemoteAddr code, uint64_t when);
  Name* InsertCode(RemoteAddr code);
  void DropNames(uint64_t until);
  void EndTenancy(const FreedCode& freed);
  bool IsStill(RemoteAddr code, Name& name);
  void CompareUsed();
  void CheckGeneration();

  StackTable& stacks_;
  CalledObjects& objects_;
  CallFilter* const filter_;
  const OnLeftOut left_out_;
  uint32_t generation_ = stacks_.generation();
  FlatMap<uint64_t, Name, AddressHash> codes_;
  FormerCode<CalledName> formers_;
  FlatMap<std::pair<uint64_t, uint64_t>, Name, PairHash> modules_;  // by code and self
  FlatMap<std::pair<uint64_t, uint64_t>, Name, PairHash> callables_;
  FlatMap<uint64_t, bool, AddressHash> excluded_;
  uint32_t round_ = 1;
  FreedCodeReader* freed_ = nullptr;
  uint64_t sure_since_ = 0;          // ticks; frees before that may be unknown
  std::vector<FreedCode> taken_;     // scratch
  std::vector<RemoteAddr> used_;     // in this round
  std::vector<RemoteAddr> asked_;    // scratch
  std::vector<RemoteAddr> changed_;  // scratch
};

}  // namespace ptrace_prof
