// Builds the text format of Prometheus (version 0.0.4), one family after the other. Pure. The caller must begin each
// family once and add all of its samples together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ptrace_prof {

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// `bounds` are inclusive upper bounds in ascending order; `counts` has one more element, for the values above all
// bounds.
struct HistogramView {
  std::span<const double> bounds;
  std::span<const uint64_t> counts;
  double sum = 0;
};

class MetricsText {
 public:
  using Labels = std::span<const std::pair<std::string_view, std::string_view>>;

  void Family(std::string_view name, MetricKind kind, std::string_view help);
  // Adds a sample to the family begun last.
  void Sample(double value, Labels labels = {});
  void Histogram(const HistogramView& histogram);

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view suffix, Labels labels, double value);

  std::string name_;
  std::string text_;
};

}  // namespace ptrace_prof
