// The lists of counters and the messages of extension.proto must have the same counters, and each text has one place
// for a number.
#include "daemon/trace/counters.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "daemon/trace/accounting_sum.h"
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/gpu_codec.h"

namespace ptrace_prof {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string FieldName(std::string_view name, uint64_t Accounting::*) {
  return name == "late" ? "late_instants" : std::string(name);
}
std::string FieldName(std::string_view name, Nanos Accounting::*) { return std::string(name) + "_ns"; }
std::string FieldName(std::string_view name, double Accounting::*) { return std::string(name); }
std::string FieldName(std::string_view name, uint64_t GpuAccounting::*) { return std::string(name); }
std::string FieldName(std::string_view name, Nanos GpuAccounting::*) { return std::string(name) + "_ns"; }
std::string FieldName(std::string_view name, double GpuAccounting::*) { return std::string(name); }

FieldDescriptor::CppType TypeOf(uint64_t) { return FieldDescriptor::CPPTYPE_UINT64; }
FieldDescriptor::CppType TypeOf(Nanos) { return FieldDescriptor::CPPTYPE_INT64; }
FieldDescriptor::CppType TypeOf(double) { return FieldDescriptor::CPPTYPE_DOUBLE; }

// `others`: fields of the message that are not counters.
template <typename Totals>
void ExpectFieldsOf(const Descriptor& message, std::set<std::string> others) {
  for (const auto& counter : CountersOf(Totals())) {
    const FieldDescriptor* field = message.FindFieldByNumber(counter.field);
    ASSERT_NE(field, nullptr) << counter.name;
    std::visit(
        [&](auto member) {
          EXPECT_EQ(field->name(), FieldName(counter.name, member));
          EXPECT_EQ(field->cpp_type(), TypeOf(Totals().*member)) << counter.name;
        },
        counter.member);
    EXPECT_TRUE(others.insert(field->name()).second) << counter.name << " is there twice";
  }
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    EXPECT_TRUE(field.options().deprecated() || others.contains(field.name())) << field.name() << " is in no list";
  }
}

TEST(Counters, EachHasItsFieldInTheTrace) {
  ExpectFieldsOf<Accounting>(*trace::Accounting::descriptor(), {"by_quality", "limit", "left_out"});
  ExpectFieldsOf<GpuAccounting>(*trace::GpuAccounting::descriptor(),
                                {"pid", "state", "reason", "message", "remedy", "cupti_version"});
}

void Set(uint64_t& count, int number) { count = static_cast<uint64_t>(number); }
void Set(Nanos& time, int number) { time = Nanos(-number); }
void Set(double& rate, int number) { rate = number + 0.5; }

template <typename Totals>
Totals AllDifferent() {
  Totals totals;
  for (const auto& counter : CountersOf(totals)) {
    std::visit([&](auto member) { Set(totals.*member, counter.field); }, counter.member);
  }
  return totals;
}

template <typename Totals>
void ExpectSameCounters(const Totals& a, const Totals& b) {
  for (const auto& counter : CountersOf(a)) {
    std::visit([&](auto member) { EXPECT_EQ(a.*member, b.*member) << counter.name; }, counter.member);
  }
}

TEST(Counters, ComeBackOutOfATrace) {
  WireEncoder out;
  EncodeAccounting(AllDifferent<Accounting>(), out);
  ExpectSameCounters(DecodeAccounting(out.buffer()), AllDifferent<Accounting>());
  trace::Accounting parsed;
  ASSERT_TRUE(parsed.ParseFromString(out.buffer()));
  EXPECT_EQ(parsed.late_instants(), 69);
  EXPECT_EQ(parsed.wall_ns(), -12);
  EXPECT_EQ(parsed.asked_rate_hz(), 13.5);
  out.Clear();
  EncodeGpuAccounting(AllDifferent<GpuAccounting>(), out);
  ExpectSameCounters(DecodeGpuAccounting(out.buffer()), AllDifferent<GpuAccounting>());
}

bool HasOnePlace(std::string_view text) {
  const size_t place = text.find("{}");
  return place != std::string_view::npos && text.find_first_of("{}") == place &&
         text.find_first_of("{}", place + 2) == std::string_view::npos;
}

template <typename Totals>
void ExpectTextsOfCountsOnly() {
  for (const auto& counter : CountersOf(Totals())) {
    const CounterTraits& traits = counter.traits;
    EXPECT_TRUE(traits.caution.empty() || HasOnePlace(traits.caution)) << counter.name;
    EXPECT_EQ(traits.closing.part == ClosingPart::kNone, traits.closing.text.empty()) << counter.name;
    EXPECT_TRUE(traits.closing.text.empty() || HasOnePlace(traits.closing.text)) << counter.name;
    EXPECT_EQ(traits.closing.one.empty(), traits.closing.many.empty()) << counter.name;
    if (!std::holds_alternative<uint64_t Totals::*>(counter.member)) {
      EXPECT_TRUE(traits.fact.empty() && traits.drop.empty() && traits.caution.empty() && traits.closing.text.empty())
          << counter.name << " is no count";
    }
  }
}

TEST(Counters, ATextHasOnePlaceForTheNumber) {
  ExpectTextsOfCountsOnly<Accounting>();
  ExpectTextsOfCountsOnly<GpuAccounting>();
}

TEST(Counters, AreAddedUpAsTheirRowsSay) {
  Accounting one;
  one.lost = UINT64_MAX - 1;
  one.state_unknown = 1;
  one.calls_without_name = 2;
  one.stood_still = one.wall = Nanos(3);
  one.stopped_longest = one.stopped_median = Nanos(4);
  one.asked_rate_hz = one.actual_rate_hz = one.event_cost_ns = 5;
  Accounting other = one;
  other.stopped_longest = Nanos(9);
  other.event_cost_ns = 6;
  other.actual_rate_hz = 7;
  const Accounting both = SumOf(one, other);
  EXPECT_EQ(both.lost, UINT64_MAX) << "and not over it";
  EXPECT_EQ(both.state_unknown, 2);
  EXPECT_EQ(both.calls_without_name, 4);
  EXPECT_EQ(both.stood_still, Nanos(6));
  EXPECT_EQ(both.stopped_longest, Nanos(9));
  EXPECT_EQ(both.stopped_median, Nanos()) << "nobody knows";
  EXPECT_EQ(both.asked_rate_hz, 5);
  EXPECT_EQ(both.event_cost_ns, 0) << "it differs";
  EXPECT_EQ(both.actual_rate_hz, 6) << "the mean";
}

}  // namespace
}  // namespace ptrace_prof
