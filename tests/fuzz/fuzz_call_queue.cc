// Any bytes as the queue of calls of a target: reads stay within the queue, and what is added can be withdrawn.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "attach/proc/call_queue_image.h"
#include "tests/fuzz/fake_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  if (size < 1) {
    return 0;
  }
  FakeMemory memory;
  for (size_t i = 1; i < size; ++i) {
    memory.Put(FakeMemory::kBase + i - 1, data[i]);
  }
  const bool old = (data[0] & 1) != 0;  // as in 3.8–3.12, else as in 3.13 and later but with fewer slots
  const RemoteAddr begin(FakeMemory::kBase);
  CallQueue queue;
  queue.count = begin;
  queue.counts = !old;
  queue.calls = begin + (old ? 8 : 12);
  queue.call_size = old ? 16 : 24;
  queue.slots = old ? 32 : 1U + data[0] / 2;
  queue.limit = old ? 31 : queue.slots;
  queue.first = queue.calls + uint64_t{queue.slots} * queue.call_size;
  auto image = CallQueueImage::Read(memory, queue);
  if (image.has_error()) {
    return 0;
  }
  const uint32_t waiting = image.value().waiting();
  uint32_t counted = 0;
  for (uint32_t slot = 0; slot < queue.slots; ++slot) {
    counted += image.value().Waits(slot) ? 1 : 0;
    (void)image.value().At(slot);
    (void)image.value().flags(slot);
  }
  if (counted != waiting || waiting > queue.limit || image.value().Waits(queue.slots)) {
    std::abort();
  }
  if (!image.value().full()) {
    const QueuedFunction call{RemoteAddr(1), RemoteAddr(2)};
    const uint32_t slot = image.value().Append(call);
    if (image.value().waiting() != waiting + 1 || !image.value().TakeBack(slot, call) ||
        image.value().waiting() != waiting) {
      std::abort();
    }
  }
  return 0;
}
