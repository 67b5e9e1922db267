// Any bytes as the head and the rings of a channel that a target shares: every drain is bounded and comes to an end.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "attach/inject/channel.h"
#include "tests/unit/attach_inject_channel_memory.h"

namespace {

using namespace ptrace_prof;

constexpr ChannelShape kShape{3, PP_MIN_RING_RECORDS, 0x4711};

// The next bytes of the input over one structure of the memory, as far as there are any.
class Scribbler {
 public:
  Scribbler(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  void Over(void* to, size_t size) {
    const size_t count = std::min(size, left_);
    std::memcpy(to, data_, count);
    data_ += count;
    left_ -= count;
  }
  bool empty() const { return left_ == 0; }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ChannelMemory memory(kShape);
  static const bool sealed = (memory.Seal(), true);
  static const pp_channel good = memory.head();
  Scribbler scribbler(data, size);
  // The first byte says whether the head is to be believed: seldom would it be by chance.
  uint8_t choice = 0;
  scribbler.Over(&choice, sizeof choice);
  memory.head() = good;
  if (!sealed || choice % 4 == 0) {
    scribbler.Over(&memory.head(), sizeof(pp_channel));
  }
  Result<Channel> channel = Channel::Take(memory.file(), kShape);
  if (channel.has_error()) {
    return 0;
  }
  std::array<pp_record, 100> records{};
  for (int round = 0; round < 8; ++round) {
    for (uint32_t i = 0; i < kShape.rings; ++i) {
      scribbler.Over(&memory.ring(i), sizeof(pp_ring));
      RingReader& ring = channel.value().rings()[i];
      size_t total = 0;
      for (size_t count = 0; (count = ring.Drain(records)) > 0;) {
        total += count;
      }
      ring.SettlePending();
      if (total > kShape.records || static_cast<uint32_t>(ring.Facts().state) > PP_RING_ENDED) {
        std::abort();
      }
    }
    (void)channel.value().Reason();
  }
  return 0;
}
