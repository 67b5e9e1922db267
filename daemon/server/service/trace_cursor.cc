#include "daemon/server/service/trace_cursor.h"

#include <fmt/format.h>

#include <utility>

#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/connection/crc32c.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kSmallestChunk = 4 * 1024;
constexpr uint32_t kLargestChunk = 1024 * 1024;

}  // namespace

Result<uint32_t> ChunkSizeFrom(uint32_t max_chunk_bytes) {
  if (max_chunk_bytes == 0) {
    return kDefaultChunk;
  }
  if (max_chunk_bytes < kSmallestChunk || max_chunk_bytes > kLargestChunk) {
    return Error{
        Code::kInvalidArgument,
        fmt::format("max_chunk_bytes is {}; it may be {} to {}", max_chunk_bytes, kSmallestChunk, kLargestChunk),
        "leave it out for the default"};
  }
  return max_chunk_bytes;
}

Result<bool> TraceCursor::Fill(ptraceprof::v1::TraceChunk* chunk) {
  PP_ASSIGN_OR_RETURN(std::string bytes, spool_.ReadPackets(offset_, most_));
  if (bytes.empty()) {
    return false;
  }
  chunk->set_offset(offset_);
  chunk->set_crc32c(Crc32c(bytes));
  offset_ += bytes.size();
  chunk->set_data(std::move(bytes));
  return true;
}

void TraceCursor::FillLast(ptraceprof::v1::TraceChunk* chunk) const {
  chunk->set_offset(offset_);
  chunk->set_crc32c(Crc32c({}));
  chunk->set_last(true);
}

}  // namespace ptrace_prof
