// What a traced target's calls are called: from addresses of code objects and callables to functions of the
// StackTable, each looked up in the target once; and whether a filter leaves them out.
//
// One per traced process, shared by the replayers of its threads; one thread. An address may get a new tenant. Where
// the target tells which code it frees and what that was called (WatchFreed), a name holds for the events between two
// such moments, and one that was read too late, or when nothing was told any more, is not given; the same of classes
// (both are "code" in the names here). Else, after each Revalidate (call it before a drain), every code object is
// checked once before its name is given again, those of the last drain all together: code that takes the place of other
// code within one drain is taken for it. Knows no CPython: CalledObjects does. What cannot be read any more is a
// marker, not an error.
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

// Looks at the target.
class CalledObjects {
 public:
  virtual ~CalledObjects() = default;
  virtual std::optional<Frame> Code(RemoteAddr code) = 0;
  // A call of a code object that belongs to nn.Module, on this module.
  virtual std::optional<Frame> Module(RemoteAddr code, RemoteAddr self) = 0;
  // Since it was last asked: are modules called otherwise than Module said?
  virtual bool ModulesMoved() { return false; }
  // A function of a module, by its PyMethodDef.
  virtual std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr method) = 0;
  // A class; and a method alone, by its PyMethodDef.
  virtual std::optional<Frame> Type(RemoteAddr /*type*/) { return std::nullopt; }
  virtual std::optional<std::string> Method(RemoteAddr /*method*/) { return std::nullopt; }
  // Appends those whose tenant is not the one that Code described.
  virtual void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) = 0;
  // Another one may be there now.
  virtual void Forget(RemoteAddr /*code*/) {}
  virtual void ForgetAll() {}
  // By what was told of it.
  virtual std::optional<Frame> Freed(const FreedCode& /*freed*/) { return std::nullopt; }
};

// What a C_CALL says of what is called; see PP_TAG_CODE and PP_TAG_SELF.
struct CalledThing {
  RemoteAddr callable;
  RemoteAddr method;  // null: it is no C function, but a class or an instance
  RemoteAddr owner;   // null: none, or it has been told before; without `method`, of a class
};

struct CalledName {
  FrameId function;
  LeftOutBy left_out = kShown;
  bool is_marker = false;  // instead of a name, which cannot be had
};

class CallNames {
 public:
  using OnLeftOut = std::function<void(RemoteAddr code, LeftOutBy by)>;

  // All must outlive it; the StackTable may be cleared. Without a filter, everything is shown. `left_out` hears of each
  // code object whose calls are not, as it gets its name, and again for code that is made anew.
  CallNames(StackTable& stacks, CalledObjects& objects, CallFilter* filter = nullptr, OnLeftOut left_out = {})
      : stacks_(stacks), objects_(objects), filter_(filter), left_out_(std::move(left_out)) {}

  // Before the first name is given. It must outlive this, or the target tells nothing.
  void WatchFreed(FreedCodeReader& freed) { freed_ = freed.is_told() ? &freed : nullptr; }

  // `when`: of the event, in the target's ticks.
  CalledName OfCode(RemoteAddr code, uint64_t when);
  CalledName OfModule(RemoteAddr code, RemoteAddr self, uint64_t when);
  CalledName OfCallable(const CalledThing& called, uint64_t when);

  // A call that is not shown.
  void CountLeftOut(LeftOutBy by) {
    if (filter_ != nullptr) {
      filter_->CountCall(by);
    }
  }

  // Functions that do not tell of their calls any more: some of their events come nevertheless and mean nothing.
  void Exclude(RemoteAddr code);
  bool IsExcluded(RemoteAddr code) const {
    const bool* excluded = excluded_.size() == 0 ? nullptr : excluded_.Find(code.value);
    return excluded != nullptr && *excluded;
  }

  void Revalidate();
  // What was freed until now; often enough, or some of it is not known any more.
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
    uint32_t checked = 0;  // in which round its tenant was last seen to be the same; 0: it is to be looked up again
    uint32_t used = 0;     // the last round that asked for it
    uint64_t since = 0;    // events before that are about a former tenant
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
  uint64_t sure_since_ = 0;          // ticks; some of what was freed before is not known
  std::vector<FreedCode> taken_;     // scratch
  std::vector<RemoteAddr> used_;     // in this round
  std::vector<RemoteAddr> asked_;    // scratch
  std::vector<RemoteAddr> changed_;  // scratch
};

}  // namespace ptrace_prof
