// Draws a bounded number of spans from a long recording: one from each of many equal stretches of time.
//
// Within a stretch, the probability of each span is its share of the samples, so shares stay right on average; the
// drawn span stands for all samples of the stretch. The draw is deterministic. Exact calls are drawn by their time, and
// the drawn one stands for all of the stretch's time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "daemon/export/span.h"

namespace ptrace_prof {

class SpanThinner {
 public:
  SpanThinner(Nanos stretch, std::function<void(const Span&)> out, bool exact = false)
      : stretch_(stretch), out_(std::move(out)), exact_(exact) {}

  void Add(const Span& span) {
    const uint64_t weight =
        exact_ ? static_cast<uint64_t>(std::max<int64_t>((span.end - span.start).value, 0)) : span.samples;
    if (weight == 0) {
      return;
    }
    if (weight_ > 0 && span.start - drawn_.start >= stretch_) {
      Finish();
    }
    const Nanos start = weight_ > 0 ? drawn_.start : span.start;
    if (Random() % (weight_ + weight) >= weight_) {
      drawn_ = span;
    }
    weight_ += weight;
    drawn_.samples = static_cast<uint32_t>(std::min<uint64_t>(weight_, UINT32_MAX));
    drawn_.start = start;
    drawn_.end = span.end;
  }
  void Finish() {
    if (weight_ > 0) {
      out_(drawn_);
    }
    weight_ = 0;
  }

 private:
  uint64_t Random() {  // xorshift64: not cryptographic, the same on every machine
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
  }

  const Nanos stretch_;
  const std::function<void(const Span&)> out_;
  const bool exact_;
  uint64_t weight_ = 0;  // of the stretch so far
  Span drawn_;
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace ptrace_prof
