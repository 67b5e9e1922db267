// Reads the trace of a capture chunk by chunk, for one call.
//
// Keeps the reader's position. Chunks hold whole packets, so every prefix of the result is a valid trace.
#pragma once

#include <cstdint>

#include "attach/base/result.h"
#include "daemon/server/captures/trace_spool.h"

namespace ptraceprof::v1 {
class TraceChunk;
}

namespace ptrace_prof {

inline constexpr uint32_t kDefaultChunk = 1024 * 1024;

// The requested chunk size (0: the default). kInvalidArgument: out of range.
Result<uint32_t> ChunkSizeFrom(uint32_t max_chunk_bytes);

class TraceCursor {
 public:
  TraceCursor(const TraceSpool& spool, uint64_t offset, uint32_t most)
      : spool_(spool), file_(spool.Hold()), offset_(offset), most_(most) {}

  bool has_more() const { return spool_.size() > offset_; }
  // Reads the next chunk; false: there is none for now.
  Result<bool> Fill(ptraceprof::v1::TraceChunk* chunk);
  void FillLast(ptraceprof::v1::TraceChunk* chunk) const;

 private:
  const TraceSpool& spool_;
  const TraceSpool::Reading file_;
  uint64_t offset_;
  const uint32_t most_;
};

}  // namespace ptrace_prof
