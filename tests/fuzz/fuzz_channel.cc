// Any bytes as the head and the rings of a channel that a target shares: every drain is bounded and ends.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "attach/inject/channel.h"
#include "tests/unit/attach/inject/channel_memory.h"

namespace {

using namespace ptrace_prof;

constexpr ChannelShape kShape{3, PP_MIN_RING_RECORDS, 0x4711};
constexpr ChannelShape kInChunks{1, 8 * PP_CHUNK_LEAST, 0x4711};
constexpr size_t kLapBytes = 8 * sizeof(pp_lap);

// Writes the next bytes of the input over one structure of the memory, as far as there are any.
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
  static const ChannelMemory small(kShape), large(kInChunks);
  static const bool sealed = (small.Seal(), large.Seal(), true);
  static const pp_channel heads[] = {small.head(), large.head()};
  Scribbler scribbler(data, size);
  // The first byte decides whether the head stays valid, as random bytes would rarely be.
  uint8_t choice = 0;
  scribbler.Over(&choice, sizeof choice);
  const bool in_chunks = (choice & 8) != 0;
  const ChannelMemory& memory = in_chunks ? large : small;
  const ChannelShape& shape = in_chunks ? kInChunks : kShape;
  memory.head() = heads[in_chunks ? 1 : 0];
  if (!sealed || choice % 4 == 0) {
    scribbler.Over(&memory.head(), sizeof(pp_channel));
  }
  Result<Channel> channel = Channel::Take(memory.file(), shape);
  if (channel.has_error()) {
    return 0;
  }
  std::array<pp_record, 100> records{};
  for (int round = 0; round < 8; ++round) {
    for (uint32_t i = 0; i < shape.rings; ++i) {
      scribbler.Over(&memory.ring(i), sizeof(pp_ring));
      if (in_chunks) {
        scribbler.Over(memory.bytes() + PP_RING_OFFSET(i) + PP_LAPS_AT, kLapBytes);
      }
      RingReader& ring = channel.value().rings()[i];
      if (ring.Waiting() > shape.records) {
        std::abort();
      }
      size_t total = 0;
      for (size_t count = 0; (count = ring.Drain(records)) > 0;) {
        total += count;
      }
      ring.SettlePending();
      if (total > shape.records || static_cast<uint32_t>(ring.Facts().state) > PP_RING_ENDED) {
        std::abort();
      }
    }
    (void)channel.value().Reason();
  }
  return 0;
}
