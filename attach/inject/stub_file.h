// The bytes of a stub of one kind, a small shared object, with its boot block filled in.
//
// A stub is recognised by its boot block (attach/abi/boot_head.h), whose magic words occur once, and by the one
// function that it exports for Python, PyInit_<module>. The bytes are ours, not the target's, but reads are bounded
// anyway. Immutable except for Fill(); copied into a memfd of the target.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attach/base/result.h"
#include "attach/inject/stub_kind.h"

namespace ptrace_prof {

// `Boot`: the boot block of the kind.
template <typename Boot>
class StubFileOf {
 public:
  // The stub that our program contains.
  static Result<StubFileOf> Carried() { return Parse(KindOf<Boot>().image()); }
  // kInvalidArgument: not a stub of that kind.
  static Result<StubFileOf> Parse(std::span<const uint8_t> bytes) {
    StubFileOf file;
    PP_ASSIGN_OR_RETURN(file.boot_at_, FindBootBlock(KindOf<Boot>(), bytes));
    file.bytes_.assign(bytes.begin(), bytes.end());
    std::memcpy(&file.boot_, bytes.data() + file.boot_at_, sizeof file.boot_);
    return file;
  }

  // Fills in the boot block as TellBootBlock does.
  void Fill(const Boot& boot) {
    const std::span<const uint8_t> reported(reinterpret_cast<const uint8_t*>(&boot), sizeof boot);
    ReportBootBlock(KindOf<Boot>(), reported, {reinterpret_cast<uint8_t*>(&boot_), sizeof boot_});
    std::memcpy(bytes_.data() + boot_at_, &boot_, sizeof boot_);
  }

  const Boot& boot() const { return boot_; }
  std::span<const uint8_t> reported() const { return std::span(bytes_).subspan(boot_at_, sizeof boot_); }
  StubPackage package() const { return {&KindOf<Boot>(), boot_.nonce, bytes_}; }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t boot_at_ = 0;
  Boot boot_{};
};

using StubFile = StubFileOf<pp_boot>;
using GpuShimFile = StubFileOf<pp_gpu_boot>;
using TorchHookFile = StubFileOf<pp_torch_boot>;

}  // namespace ptrace_prof
