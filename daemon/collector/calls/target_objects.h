// Names what a traced target calls by reading its memory: code objects, C functions, nn.Modules.
//
// Does not stop the target. An object may change or go while it is read; then it has no name, or the name that can
// still be read (a PyMethodDef is static). C functions are named with their module: "time.sleep", "len"; for methods
// the target reports the class (PP_TAG_SELF).
//
// An nn.Module is identified as in torch.profiler, by its class and a number, and by its place in the outermost module
// that was called: "nn.Module: Linear_0 (layers.3.attn)". If its holder is seen only later (the recording began inside
// of it), it gets its place then. One per traced process; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/proc/remote_memory.h"
#include "daemon/collector/calls/call_names.h"
#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {

class TargetObjects final : public CalledObjects {
 public:
  // All arguments must outlive it.
  TargetObjects(RemoteMemory& memory, const Layout& layout, CodeCache& codes)
      : memory_(memory), layout_(layout), codes_(codes), reader_(memory, layout) {}

  std::optional<Frame> Code(RemoteAddr code) override;
  std::optional<Frame> Module(RemoteAddr code, RemoteAddr self) override;
  bool ModulesMoved() override { return std::exchange(modules_moved_, false); }
  std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr method) override;
  std::optional<Frame> Type(RemoteAddr type) override;
  std::optional<std::string> Method(RemoteAddr method) override;
  void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) override;
  void Forget(RemoteAddr code) override { codes_.Forget(code.value); }
  void ForgetAll() override { codes_.Clear(); }
  std::optional<Frame> Freed(const FreedCode& freed) override;

 private:
  // The word `number` after the header that every object has.
  std::optional<RemoteAddr> Field(RemoteAddr object, uint32_t number);
  std::string ModuleOf(RemoteAddr callable, RemoteAddr method);
  bool IsType(RemoteAddr object);
  void WalkModules(RemoteAddr root);

  RemoteMemory& memory_;
  const Layout& layout_;
  CodeCache& codes_;
  ObjectReader reader_;
  struct KnownModule {
    std::string place;               // empty: no holder is known
    std::optional<uint32_t> number;  // among those of its class, once it was called
  };

  std::unordered_map<RemoteAddr, KnownModule> modules_;
  std::map<std::string, uint32_t> modules_of_class_;
  size_t walked_ = 0;  // modules, in all walks together
  bool modules_moved_ = false;
};

}  // namespace ptrace_prof
