// The bytes of the stub, a small shared object, with what it is told filled in.
//
// The stub is found to be one by its boot block (attach/abi/boot.h), whose magic words occur once, and by the one
// function that it exports for Python, PyInit_<module>. Its bytes are ours, not the target's; still they are only
// looked at within their bounds. Immutable but for Fill(); copied into a memfd of the target.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/abi/boot.h"
#include "attach/base/result.h"
#include "attach/inject/stub_kind.h"

namespace ptrace_prof {

class StubFile {
 public:
  // The one that our program carries (stub_image.h).
  static Result<StubFile> Carried();
  // kInvalidArgument: this is no stub.
  static Result<StubFile> Parse(std::span<const uint8_t> bytes);

  // Everything but the magic, the version, and what the stub writes itself is taken from `boot`.
  void Fill(const pp_boot& boot);

  const pp_boot& boot() const { return boot_; }
  StubPackage package() const { return {&kTracerStub, boot_.nonce, bytes_}; }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t boot_at_ = 0;
  pp_boot boot_{};
};

std::string ChannelFileName(uint64_t nonce);

}  // namespace ptrace_prof
