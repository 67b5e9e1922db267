// Which code object stood in each frame of a chain at the moment when it was read: a name is used for no other.
//
// A code object may be freed, and its address taken by another. While it is on a stack it cannot be: so the headers of
// those code objects that were not met often yet are copied while the thread stands still (Note), and compared with
// what is read of them afterwards, when it goes on (Name). Those that were found to be the same many times are settled,
// and are compared before samples are written out (SampleBuffer). What does not compare equal has no name. Where the
// interpreter counts the code objects that it frees (3.14 and later), nothing need be compared while that count stands
// still. Bounded work while the thread stands still. One per process; one thread.
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

  // At a new instant. `generation`: the interpreter's count of freed code objects, read together with the frames; 0: it
  // has none.
  void Begin(uint64_t generation);
  // Of each chain that was read then, while its thread stands still.
  void Note(const std::vector<RawFrame>& frames);
  // The code of each of these frames, which Note was called with; kNoCode: it is gone. Asks the target for what is new.
  const std::vector<CodeId>& Name(const std::vector<RawFrame>& frames);
  size_t gone() const { return gone_; }  // of them

 private:
  static constexpr size_t kMostNoted = 128;  // headers of one instant, of each chain from the leaf on
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
