#include "attach/inject/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ptrace_prof {
namespace {

template <typename T>
T Load(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}

template <typename T>
void Store(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

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

uint64_t RingReader::Waiting() const { return std::min<uint64_t>(Load(ring_->head) - tail_, records_); }

size_t RingReader::Drain(std::span<pp_record> to) {
  const uint64_t head = Load(ring_->head);
  const uint64_t waiting = head - tail_;
  if (waiting > records_) {  // more than there is room for, or less than none
    ++skipped_;
    tail_ = head;
    Store(ring_->tail, tail_);
    return 0;
  }
  const size_t count = std::min<uint64_t>(waiting, to.size());
  const size_t begin = tail_ & (records_ - 1);
  const size_t until_end = std::min<size_t>(count, records_ - begin);
  std::memcpy(to.data(), first_ + begin, until_end * sizeof(pp_record));
  std::memcpy(to.data() + until_end, first_, (count - until_end) * sizeof(pp_record));
  tail_ += count;
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
