// Recognizes code objects of a traced target with a special meaning: the calls of nn.Modules and the steps of the job's
// loop.
//
// Stands between CallNames and its CalledObjects, and sees every code object when it gets its name, once each and
// before its first call is replayed. One per traced process; one thread.
#pragma once

#include <functional>

#include "daemon/collector/calls/call_names.h"
#include "rpc/messages/capture_task.h"
#include "rpc/messages/name_glob.h"

namespace ptrace_prof {

enum class Landmark : uint8_t {
  kNone,
  kModuleCall,       // its first local is the nn.Module
  kInnerModuleCall,  // the same, unless a kModuleCall called it (module_call.h)
  kStep,             // an outermost call of it is a step of the job's loop
  kOptimizer,        // each step of an optimizer calls it; its first local is the optimizer
};

class Landmarks final : public CalledObjects {
 public:
  // `found` is called for each code object, and again if it is created anew.
  // Functions that `asked` names are the steps, or else those of optimizers. Invalid patterns are dropped; CheckSpec
  // has refused them before.
  Landmarks(CalledObjects& objects, const v1::TraceOptions& asked,
            std::function<void(Landmark, RemoteAddr code)> found);

  std::optional<Frame> Code(RemoteAddr code) override;
  std::optional<Frame> Module(RemoteAddr code, RemoteAddr self) override { return objects_.Module(code, self); }
  bool ModulesMoved() override { return objects_.ModulesMoved(); }
  std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr method) override {
    return objects_.Callable(callable, method);
  }
  std::optional<Frame> Type(RemoteAddr type) override { return objects_.Type(type); }
  std::optional<std::string> Method(RemoteAddr method) override { return objects_.Method(method); }
  void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) override {
    objects_.Changed(codes, changed);
  }
  void Forget(RemoteAddr code) override { objects_.Forget(code); }
  void ForgetAll() override { objects_.ForgetAll(); }
  std::optional<Frame> Freed(const FreedCode& freed) override { return objects_.Freed(freed); }

 private:
  Landmark MeaningOf(const Frame& function) const;

  CalledObjects& objects_;
  std::vector<NameGlob> step_functions_;
  std::function<void(Landmark, RemoteAddr)> found_;
};

}  // namespace ptrace_prof
