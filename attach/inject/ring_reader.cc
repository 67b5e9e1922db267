#include "attach/inject/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "attach/inject/shared_word.h"

namespace ptrace_prof {
namespace {

RingState StateOf(uint32_t word) { return word <= PP_RING_ENDED ? static_cast<RingState>(word) : RingState::kFree; }

}  // namespace

RingFacts RingReader::Facts() const {
  RingFacts facts;
  facts.state = StateOf(Load(ring_->state));
  facts.tid = Tid(Load(ring_->tid));
  facts.thread_state = RemoteAddr(Load(ring_->thread_state));
  facts.lost_total = Load(ring_->lost_total);
  facts.lost = Load(ring_->lost);
  facts.lost_since = Load(ring_->lost_since);
  facts.last_unarmed = Load(ring_->last_unarmed);
  facts.holds = Load(ring_->holds);
  facts.held_time = Load(ring_->held_time);
  facts.first_frame = RemoteAddr(Load(ring_->first_frame));
  return facts;
}

RingReader::Run RingReader::RunAt(uint64_t index, uint64_t head) const {
  const uint64_t at = index & (chunk_ - 1);
  const uint64_t count = std::min<uint64_t>(head - index, chunk_ - at);
  if (chunk_ == records_) {
    return {first_ + at, count, index + count};
  }
  const uint32_t chunks = records_ / chunk_;
  auto* laps = reinterpret_cast<pp_lap*>(reinterpret_cast<uint8_t*>(ring_) + PP_LAPS_AT);
  const pp_lap lap = Load(laps[index / chunk_ % chunks]);
  const uint64_t unused = count < chunk_ - at ? 0 : std::min<uint64_t>(count, PP_LAP_UNUSED(lap));
  return {first_ + size_t{PP_LAP_CHUNK(lap) % chunks} * chunk_ + at, count - unused, index + count};
}

uint64_t RingReader::Waiting() const {
  const uint64_t head = Load(ring_->head);
  if (head - tail_ > records_) {
    return records_;
  }
  uint64_t waiting = 0;
  for (uint64_t index = tail_; index != head;) {
    const Run run = RunAt(index, head);
    waiting += run.count;
    index = run.end;
  }
  return waiting;
}

size_t RingReader::Drain(std::span<pp_record> to) {
  const uint64_t head = Load(ring_->head);
  const uint64_t waiting = head - tail_;
  if (waiting > records_) {  // inconsistent: more records than the ring can hold
    ++skipped_;
    tail_ = head;
    Store(ring_->tail, tail_);
    return 0;
  }
  size_t count = 0;
  while (tail_ != head && count < to.size()) {
    const Run run = RunAt(tail_, head);
    const size_t taken = std::min<uint64_t>(run.count, to.size() - count);
    std::memcpy(to.data() + count, run.first, taken * sizeof(pp_record));
    count += taken;
    tail_ = taken == run.count ? run.end : tail_ + taken;
  }
  Store(ring_->tail, tail_);
  return count;
}

void RingReader::SettlePending() {
  if ((Load(ring_->last_unarmed) & PP_UNARMED_PENDING) != 0) {
    Store(ring_->last_unarmed, uint64_t{0});
  }
}

void RingReader::Free() { Store(ring_->state, static_cast<uint32_t>(PP_RING_FREE)); }

}  // namespace ptrace_prof
