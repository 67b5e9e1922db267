// The values of one counter for the page. Above a number of points, neighbouring values are averaged, so that memory
// does not grow with the length of the recording.
//
// Part of Recording, filled by SpanFeed. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "daemon/trace/counter.h"

namespace ptrace_prof {

class CounterSeries {
 public:
  static constexpr size_t kMostPoints = 2048;

  struct Point {
    Nanos when;      // of the first value
    double sum = 0;  // of its values
    uint64_t values = 0;
    double mean() const { return values == 0 ? 0 : sum / static_cast<double>(values); }
  };

  CounterInfo info;

  void Add(Nanos when, int64_t value) {
    if (points_.empty() || points_.back().values >= each_) {
      if (points_.size() == kMostPoints) {
        Halve();
      }
      points_.push_back({when, 0, 0});
    }
    points_.back().sum += static_cast<double>(value);
    ++points_.back().values;
    peak_ = values_ == 0 ? value : std::max(peak_, value);
    sum_ += static_cast<double>(value);
    ++values_;
  }

  const std::vector<Point>& points() const { return points_; }
  int64_t peak() const { return peak_; }
  double mean() const { return values_ == 0 ? 0 : sum_ / static_cast<double>(values_); }

 private:
  void Halve() {
    for (size_t i = 0; i < points_.size() / 2; ++i) {
      const Point& second = points_[2 * i + 1];
      points_[i] = points_[2 * i];
      points_[i].sum += second.sum;
      points_[i].values += second.values;
    }
    points_.resize(points_.size() / 2);
    each_ *= 2;
  }

  std::vector<Point> points_;
  uint64_t each_ = 1;  // values per point
  int64_t peak_ = 0;
  double sum_ = 0;
  uint64_t values_ = 0;
};

}  // namespace ptrace_prof
