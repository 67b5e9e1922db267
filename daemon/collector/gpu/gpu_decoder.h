// Splits a buffer of CUPTI into its records and reads the fields that we use. Only this class knows CUPTI's layouts.
//
// Works on bytes, and on the distance between records of each kind as reported by the target's CUPTI; it does not know
// where the bytes lie. Both are hostile, and the bytes may change while they are read. So nothing is read outside the
// buffer, each field is read once, and an impossible record ends the buffer. Offsets are a table: the beginnings of
// CUPTI's structures never changed, and later versions only append. A field beyond the end of a version's record is 0.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/collector/gpu/gpu_record.h"

namespace ptrace_prof {

inline constexpr size_t kGpuRecordKinds = 64;

class GpuDecoder {
 public:
  // `strides`: bytes from one record of a kind to the next; 0: the library does not have that kind.
  explicit GpuDecoder(std::span<const uint16_t> strides);

  // Calls visit(const GpuRecord&) for each record of a known kind.
  template <typename Visit>
  void Decode(std::span<const uint8_t> bytes, Visit visit) {
    GpuRecord record;
    while (!bytes.empty()) {
      const size_t size = Next(bytes, record);
      if (size == 0) {
        return;
      }
      if (record.kind != GpuRecordKind::kNone) {
        visit(static_cast<const GpuRecord&>(record));
      }
      bytes = bytes.subspan(size);
    }
  }

  uint64_t records() const { return records_; }
  // Records that we do not read, and buffers with an invalid rest.
  uint64_t unknown() const { return unknown_; }
  // Bytes of those rests; how many records they hold is not known.
  uint64_t unread_bytes() const { return unread_bytes_; }

 private:
  struct Copy {
    uint16_t from;
    uint16_t to;
    uint8_t size;  // 1, 2, 4, 8
  };
  struct Plan {
    uint16_t stride = 0;
    bool is_read = false;
    std::vector<Copy> copies;
  };

  size_t Next(std::span<const uint8_t> bytes, GpuRecord& record);

  std::array<Plan, kGpuRecordKinds> plans_;
  uint64_t records_ = 0;
  uint64_t unknown_ = 0;
  uint64_t unread_bytes_ = 0;
};

}  // namespace ptrace_prof
