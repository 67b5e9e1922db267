#include "daemon/export/page_counters.h"

#include <cmath>
#include <string_view>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

// The unit of a value on the page, by CounterUnit.
constexpr std::string_view kUnits[kCounterUnitCount] = {"", "%", "MHz", "B", "mW", "°C"};

int64_t CounterMicros(Nanos time) { return time.value / 1000; }

// Alternating times (µs since the begin of the page) and values. The last value before that begin is moved to it.
void WritePoints(const CounterSeries& series, Nanos begin, Nanos end, JsonOutput& json) {
  const auto& points = series.points();
  json.Name("points");
  json.StartArray();
  for (size_t i = 0; i < points.size() && points[i].when < end; ++i) {
    if (i + 1 < points.size() && points[i + 1].when <= begin) {
      continue;
    }
    json.Int64(std::max<int64_t>(CounterMicros(points[i].when) - CounterMicros(begin), 0));
    json.Int64(std::llround(points[i].mean()));
  }
  json.EndArray();
}

}  // namespace

void WriteCounters(const Recording& recording, Nanos end, JsonOutput& json) {
  if (recording.counters.empty()) {
    return;
  }
  json.Name("counters");
  json.StartArray();
  for (const CounterSeries& series : recording.counters) {
    json.StartObject();
    json.Member("group", CleanText(series.info.group));
    json.Member("name", CleanText(series.info.name));
    json.Member("unit", kUnits[static_cast<size_t>(series.info.unit)]);
    json.Member("most", series.info.most);
    json.Member("peak", series.peak());
    json.Member("mean", static_cast<int64_t>(std::llround(series.mean())));
    WritePoints(series, recording.first, end, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace ptrace_prof
