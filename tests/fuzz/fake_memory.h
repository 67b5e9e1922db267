// A target's memory made of fuzzer input, for readers of remote structures. Owned by one fuzzer run.
//
// The input fills an address space of kSize bytes again and again. Words that are odd become pointers into it, so that
// chains go somewhere; the rest stay what they are. Between reads the contents change in a few places, as those of a
// running process do. Reads are counted: more than kMaxReads or kMaxBytes in one run is a runaway loop and aborts.
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
  static constexpr uint64_t kSize = 1 << 18;
  static constexpr uint64_t kMaxReads = 2'000'000;
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 32;

  explicit FakeMemory(std::span<const uint8_t> input) : words_(kSize / 8) {
    std::vector<uint64_t> pattern(input.size() / 8 + 1);
    if (!input.empty()) {
      std::memcpy(pattern.data(), input.data(), input.size());
    }
    for (size_t i = 0; i < words_.size(); ++i) {
      words_[i] = Meaning(pattern[i % pattern.size()] + (i / pattern.size()) * 2);
    }
    state_ = pattern[0] | 1;
  }

  static RemoteAddr At(uint64_t word) { return RemoteAddr(kBase + word % (kSize / 8) * 8); }

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    reads_ += 1;
    bytes_ += size;
    if (reads_ > kMaxReads || bytes_ > kMaxBytes) {
      std::abort();
    }
    if (from.value < kBase || from.value > kBase + kSize || size > kBase + kSize - from.value) {
      return ReadStatus::kFault;
    }
    Disturb();
    std::memcpy(to, reinterpret_cast<const char*>(words_.data()) + (from.value - kBase), size);
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
  static uint64_t Meaning(uint64_t word) { return (word & 1) != 0 ? At(word >> 1).value : word; }
  void Disturb() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    if (state_ >> 61 == 0) {
      words_[(state_ >> 20) % words_.size()] = Meaning(state_ >> 13);
    }
  }

  std::vector<uint64_t> words_;
  uint64_t state_ = 1;
  uint64_t reads_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ptrace_prof
