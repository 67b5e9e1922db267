// The list of counters agrees with ptraceprof.v1.Totals.
#include "daemon/trace/counters.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "daemon/server/service/capture_message.h"
#include "ptraceprof/v1/capture.pb.h"

namespace ptrace_prof {
namespace {

using google::protobuf::FieldDescriptor;

// Counters whose field has another name.
const std::map<std::string_view, std::string> kOtherNames = {
    {"late", "late_instants"},      {"missed", "missed_rounds"}, {"stopped_total", "stopped_time"},
    {"stopped_median", "stop_p50"}, {"stopped_p90", "stop_p90"}, {"stopped_longest", "stop_longest"},
    {"wall", "wall_time"},          {"held_total", "held_time"}, {"collector_cpu", "collector_cpu_time"}};

FieldDescriptor::CppType TypeOf(uint64_t) { return FieldDescriptor::CPPTYPE_UINT64; }
FieldDescriptor::CppType TypeOf(Nanos) { return FieldDescriptor::CPPTYPE_MESSAGE; }
FieldDescriptor::CppType TypeOf(double) { return FieldDescriptor::CPPTYPE_DOUBLE; }

TEST(TotalsOfCounters, EachHasTheFieldThatItNames) {
  const auto& message = *ptraceprof::v1::Totals::descriptor();
  std::set<std::string> known = {"truncated", "torn", "stale_names"};  // marks of samples
  for (const auto& counter : kCounters) {
    if (counter.traits.totals == 0) {
      continue;
    }
    const FieldDescriptor* field = message.FindFieldByNumber(counter.traits.totals);
    ASSERT_NE(field, nullptr) << counter.name;
    const auto other = kOtherNames.find(counter.name);
    EXPECT_EQ(field->name(), other == kOtherNames.end() ? counter.name : other->second);
    EXPECT_FALSE(field->options().deprecated()) << counter.name;
    std::visit([&](auto member) { EXPECT_EQ(field->cpp_type(), TypeOf(Accounting().*member)) << counter.name; },
               counter.member);
    EXPECT_TRUE(known.insert(field->name()).second) << counter.name << " is there twice";
  }
  for (int i = 0; i < message.field_count(); ++i) {
    EXPECT_TRUE(message.field(i)->options().deprecated() || known.contains(message.field(i)->name()))
        << message.field(i)->name() << " is of no counter";
  }
  for (const auto& counter : kGpuCounters) {
    EXPECT_EQ(counter.traits.totals, 0) << counter.name << ": Totals has none of the GPU";
  }
}

TEST(TotalsOfCounters, CountsTimesRatesAndMarksArrive) {
  Accounting totals;
  totals.missed = 5;
  totals.wall = Nanos(1'500'000'000);
  totals.actual_rate_hz = 99.5;
  totals.by_quality = {1, 2, 3, 4, 5, 6, 7};
  ptraceprof::v1::Totals message;
  FillTotals(totals, &message);
  EXPECT_EQ(message.missed_rounds(), 5);
  EXPECT_EQ(message.wall_time().seconds(), 1);
  EXPECT_EQ(message.wall_time().nanos(), 500'000'000);
  EXPECT_EQ(message.actual_rate_hz(), 99.5);
  EXPECT_EQ(message.truncated(), 3 + 4);
  EXPECT_EQ(message.torn(), 6);
  EXPECT_EQ(message.stale_names(), 7);
}

}  // namespace
}  // namespace ptrace_prof
