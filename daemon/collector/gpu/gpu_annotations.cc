#include "daemon/collector/gpu/gpu_annotations.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMostHalves = size_t{1} << 16;  // of each kind: ranges that are open at once
constexpr size_t kMostWhole = size_t{1} << 18;   // complete ranges that wait to be written

// CUPTI's flags of a marker, and the kind of object that it belongs to.
enum : uint32_t { kInstantaneous = 1, kStart = 2, kEnd = 4 };
enum : uint32_t { kOfProcess = 1, kOfThread = 2 };

}  // namespace

void GpuAnnotations::Take(const GpuRecord& record) {
  has_seen_any_ = true;
  const bool is_start = (record.flags & kStart) != 0;
  const bool is_end = !is_start && (record.flags & kEnd) != 0;
  const bool is_mark = !is_start && !is_end && (record.flags & kInstantaneous) != 0;
  const bool has_place = is_end || record.source == kOfThread || record.source == kOfProcess;
  if (record.start == 0 || !clock_.IsPossible(record.start) || !has_place || !(is_start || is_end || is_mark)) {
    ++lost_;
    return;
  }
  Half half{.when = clock_.ToMonotonic(record.start), .thread = record.thread, .name = {}, .domain = {}};
  if (is_end) {
    End(record.value, half);
    return;
  }
  if (half.when > closed_) {
    return;
  }
  if (record.source == kOfProcess) {
    half.thread = record.process;  // shown with the main thread
  }
  half.name = names_.Of(RemoteAddr(record.name));
  half.domain = record.domain != 0 ? names_.Of(RemoteAddr(record.domain)) : std::string_view();
  if (is_mark) {
    Add(half, half.when, GpuAnnotationKind::kMark);
  } else {
    Begin(record.value, half);
  }
}

void GpuAnnotations::Begin(uint32_t number, const Half& begin) {
  if (const auto end = ends_.find(number); end != ends_.end() && end->second.when >= begin.when) {
    Add(begin, end->second.when, GpuAnnotationKind::kRange);
    ends_.erase(end);
  } else if (begins_.size() < kMostHalves) {
    lost_ += begins_.insert_or_assign(number, begin).second ? 0 : 1;  // its end will not come any more
  } else {
    ++lost_;
  }
}

void GpuAnnotations::End(uint32_t number, const Half& end) {
  if (const auto begin = begins_.find(number); begin != begins_.end() && begin->second.when <= end.when) {
    Add(begin->second, end.when, GpuAnnotationKind::kRange);
    begins_.erase(begin);
  } else if (ends_.size() < kMostHalves) {
    without_begin_ += ends_.insert_or_assign(number, end).second ? 0 : 1;
  } else {
    ++without_begin_;
  }
}

void GpuAnnotations::Add(const Half& begin, Nanos end, GpuAnnotationKind kind) {
  if (whole_.size() >= kMostWhole) {
    Settle();
  }
  if (end >= opened_) {
    whole_.push_back({{kind, begin.when, end, begin.name, begin.domain}, begin.thread});
  }
}

// Ordered by end, inner ranges before outer ones, so that the writer can find the nesting.
void GpuAnnotations::Settle() {
  std::ranges::sort(whole_, [](const Whole& a, const Whole& b) {
    return std::pair(a.annotation.end, b.annotation.begin) < std::pair(b.annotation.end, a.annotation.begin);
  });
  for (const Whole& one : whole_) {
    writer_.AddGpuAnnotation(sites_.ThreadOf(one.thread), one.annotation);
  }
  written_ += whole_.size();
  whole_.clear();
}

void GpuAnnotations::Finish(Nanos now, uint64_t lacks) {
  without_begin_ += ends_.size();
  if (lacks > 0) {
    lost_ += begins_.size();  // some are still open, of others the end was lost: it is not known which
  } else {
    without_end_ += begins_.size();
    for (const auto& [number, begin] : begins_) {
      Add(begin, std::max(std::min(now, closed_), begin.when), GpuAnnotationKind::kOpenRange);
    }
  }
  ends_.clear();
  begins_.clear();
  Settle();
}

void GpuAnnotations::CountInto(GpuAccounting& accounting) const {
  accounting.annotations = written_;
  accounting.annotations_without_begin = without_begin_;
  accounting.annotations_without_end = without_end_;
  accounting.annotations_lost = lost_;
}

}  // namespace ptrace_prof
