// Finds the code object of each frame of a chain as of the moment when the chain was read, so that no frame gets
// another's name.
//
// A code object may be freed and its address reused, but not while it is on a stack. So the headers of code objects
// that were not met often yet are copied while the thread is stopped (Note), and compared afterwards with what is read
// of them (Name). Objects that were found unchanged many times are settled: they are compared before samples are
// written (SampleBuffer). A code object that does not compare equal gets no name. If the interpreter counts freed code
// objects (3.14 and later), nothing needs a comparison while that count does not change. Bounded work while the thread
// is stopped. One per process; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {

class FrameCodes {
 public:
  FrameCodes(CodeCache& codes, RemoteMemory& memory) : codes_(codes), memory_(memory) {}

  // Begins a new instant. `generation`: the interpreter's count of freed code objects, read with the frames; 0: it has
  // none.
  void Begin(uint64_t generation);
  // For each chain of the instant, while its thread is stopped.
  void Note(const std::vector<RawFrame>& frames);
  // The code of each frame, for frames passed to Note; kNoCode: it is gone. Reads new code objects from the target.
  const std::vector<CodeId>& Name(const std::vector<RawFrame>& frames);
  size_t gone() const { return gone_; }  // number of frames of the last Name without code

 private:
  static constexpr size_t kMostNoted = 128;  // headers per instant, of each chain from the leaf on
  static constexpr size_t kHeaderBytes = CodeCache::kMostHeaderBytes;

  struct Noted {
    uint64_t address = 0;
    CodeFingerprint fingerprint{};
    bool is_read = false;
  };

  bool IsSettled(CodeId id) const;
  void ReadHeaders(size_t from);
  const Noted* FindNoted(uint64_t address) const;
  CodeId NameNew(uint64_t address, const Noted* noted);

  CodeCache& codes_;
  RemoteMemory& memory_;
  uint64_t generation_ = 0;
  std::vector<Noted> noted_;
  std::vector<ReadRequest> requests_;
  std::array<std::byte, kMostNoted * kHeaderBytes> headers_{};
  std::vector<CodeId> names_;
  size_t gone_ = 0;
};

}  // namespace ptrace_prof
