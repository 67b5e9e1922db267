// Draws a bounded number of spans from a long run: one from each of many equal stretches of time.
//
// Within a stretch each span is drawn with the probability of its share of the samples, so that shares stay right
// on average; the one drawn stands for all samples of the stretch. The draw is the same every time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "daemon/export/span.h"

namespace ptrace_prof {

class SpanThinner {
 public:
  SpanThinner(Nanos stretch, std::function<void(const Span&)> out) : stretch_(stretch), out_(std::move(out)) {}

  void Add(const Span& span) {
    if (drawn_.samples > 0 && span.start - drawn_.start >= stretch_) {
      Finish();
    }
    const uint64_t before = drawn_.samples;
    const Nanos start = before > 0 ? drawn_.start : span.start;
    if (Random() % (before + span.samples) >= before) {
      drawn_ = span;
    }
    drawn_.samples = static_cast<uint32_t>(std::min<uint64_t>(before + span.samples, UINT32_MAX));
    drawn_.start = start;
    drawn_.end = span.end;
  }
  void Finish() {
    if (drawn_.samples > 0) {
      out_(drawn_);
    }
    drawn_.samples = 0;
  }

 private:
  uint64_t Random() {  // xorshift64: no cryptography, the same on every machine
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
  }

  const Nanos stretch_;
  const std::function<void(const Span&)> out_;
  Span drawn_;
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace ptrace_prof
