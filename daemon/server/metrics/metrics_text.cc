#include "daemon/server/metrics/metrics_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ptrace_prof {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"counter", "gauge", "histogram"};

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '"' ? "\\\"" : std::string(1, c);
  }
  return escaped;
}

std::string Number(double value) {
  return std::isinf(value) ? (value > 0 ? "+Inf" : "-Inf") : std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

}  // namespace

void MetricsText::Family(std::string_view name, MetricKind kind, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kKinds[static_cast<size_t>(kind)]);
}

void MetricsText::Line(std::string_view suffix, Labels labels, double value) {
  text_ += name_;
  text_ += suffix;
  for (size_t i = 0; i < labels.size(); ++i) {
    text_ += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first, Escaped(labels[i].second));
  }
  text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", Number(value));
}

void MetricsText::Sample(double value, Labels labels) { Line("", labels, value); }

void MetricsText::Histogram(const HistogramView& histogram) {
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    const std::string bound = i < histogram.bounds.size() ? Number(histogram.bounds[i]) : "+Inf";
    const std::pair<std::string_view, std::string_view> label{"le", bound};
    Line("_bucket", {&label, 1}, static_cast<double>(below));
  }
  Line("_sum", {}, histogram.sum);
  Line("_count", {}, static_cast<double>(below));
}

}  // namespace ptrace_prof
