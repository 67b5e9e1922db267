// A target's memory for fuzzers: one range of addresses that changes a little between reads, as a running process does.
//
// Reads are counted: more than kMaxReads or kMaxBytes in one run is a runaway loop and aborts.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class FakeMemory final : public RemoteMemory {
 public:
  static constexpr uint64_t kBase = 0x10000000;
  static constexpr uint64_t kSize = 1 << 17;
  static constexpr uint64_t kMaxReads = 500'000;
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

  FakeMemory() : bytes_(kSize) {}

  // A write out of range is ignored.
  template <typename T>
  void Put(uint64_t address, T value) {
    if (address >= kBase && address <= kBase + kSize - sizeof value) {
      std::memcpy(bytes_.data() + (address - kBase), &value, sizeof value);
    }
  }
  // From now on about every eighth read is preceded by a change. 0: never.
  void DisturbFrom(uint64_t seed) { state_ = seed; }

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    reads_ += 1;
    read_bytes_ += size;
    if (reads_ > kMaxReads || read_bytes_ > kMaxBytes) {
      std::abort();
    }
    if (from.value < kBase || from.value > kBase + kSize || size > kBase + kSize - from.value) {
      return ReadStatus::kFault;
    }
    Disturb();
    std::memcpy(to, bytes_.data() + (from.value - kBase), size);
    return ReadStatus::kOk;
  }

  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    *filled = 0;
    for (const ReadRequest& request : requests) {
      const ReadStatus status = Read(request.from, request.to, request.size);
      if (status != ReadStatus::kOk) {
        return status;
      }
      ++*filled;
    }
    return ReadStatus::kOk;
  }

 private:
  void Disturb() {
    if (state_ == 0) {
      return;
    }
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    if (state_ >> 61 == 0) {
      Put<uint64_t>(kBase + (state_ >> 20) % kSize / 8 * 8, kBase + (state_ >> 13) % kSize / 8 * 8);
    }
  }

  std::vector<std::byte> bytes_;
  uint64_t state_ = 0;
  uint64_t reads_ = 0;
  uint64_t read_bytes_ = 0;
};

}  // namespace ptrace_prof
