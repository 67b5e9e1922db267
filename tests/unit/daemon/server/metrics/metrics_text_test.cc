#include "daemon/server/metrics/metrics_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace ptrace_prof {
namespace {

TEST(MetricsText, IsTheFormatOfPrometheus) {
  MetricsText text;
  text.Family("a_total", MetricKind::kCounter, "How many.");
  const std::pair<std::string_view, std::string_view> labels[] = {{"what", "record"}, {"reason", "a\"b\\c\nd"}};
  text.Sample(3, labels);
  text.Family("b", MetricKind::kGauge, "Now.");
  text.Sample(0.5);
  text.Sample(std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.text(),
            "# HELP a_total How many.\n# TYPE a_total counter\n"
            "a_total{what=\"record\",reason=\"a\\\"b\\\\c\\nd\"} 3\n"
            "# HELP b Now.\n# TYPE b gauge\nb 0.5\nb +Inf\n");
}

TEST(MetricsText, BucketsOfAHistogramHoldAllBelow) {
  MetricsText text;
  text.Family("h", MetricKind::kHistogram, "Times.");
  const double bounds[] = {0.1, 1};
  const uint64_t counts[] = {2, 0, 3};
  text.Histogram({bounds, counts, 40.25});
  EXPECT_EQ(text.text(),
            "# HELP h Times.\n# TYPE h histogram\n"
            "h_bucket{le=\"0.1\"} 2\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 5\nh_sum 40.25\nh_count 5\n");
}

}  // namespace
}  // namespace ptrace_prof
