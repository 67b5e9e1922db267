// Checks of a request: a table of requests that are refused, each with the field that its error must name.

#include "rpc/messages/check_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

struct Bad {
  const char* named;
  std::function<void(v1::CaptureSpec&)> change;
};

v1::CaptureSpec Good() {
  v1::CaptureSpec spec;
  spec.mutable_target()->set_pid(7);
  return spec;
}

std::function<void(v1::CaptureSpec&)> Rate(double rate) {
  return [rate](v1::CaptureSpec& spec) { spec.mutable_sample()->set_rate_hz(rate); };
}
std::function<void(v1::CaptureSpec&)> Overhead(double share) {
  return [share](v1::CaptureSpec& spec) { spec.mutable_sample()->set_max_overhead(share); };
}
std::function<void(v1::CaptureSpec&)> Duration(int64_t seconds, int32_t nanos) {
  return [=](v1::CaptureSpec& spec) {
    spec.mutable_duration()->set_seconds(seconds);
    spec.mutable_duration()->set_nanos(nanos);
  };
}
std::function<void(v1::CaptureSpec&)> Pid32(int32_t pid) {
  return [pid](v1::CaptureSpec& spec) { spec.mutable_target()->set_pid(pid); };
}
std::function<void(v1::CaptureSpec&)> Threads(int count, int32_t tid) {
  return [=](v1::CaptureSpec& spec) {
    for (int i = 0; i < count; ++i) {
      spec.mutable_sample()->add_threads(tid);
    }
  };
}

const Bad kBad[] = {
    {"target", [](v1::CaptureSpec& spec) { spec.clear_target(); }},
    {"target", [](v1::CaptureSpec& spec) { spec.mutable_target()->clear_pid(); }},
    {"pid", Pid32(0)},
    {"pid", Pid32(-1)},
    {"pid", Pid32(std::numeric_limits<int32_t>::min())},
    {"pid", Pid32(std::numeric_limits<int32_t>::max())},
    {"duration", Duration(-1, 0)},
    {"duration", Duration(0, -1)},
    {"duration", Duration(1, -1)},
    {"duration", Duration(0, 1'000'000'000)},
    {"duration", Duration(366 * 24 * 3600 + 1, 0)},
    {"duration", Duration(366 * 24 * 3600, 1)},
    {"duration", Duration(std::numeric_limits<int64_t>::max(), 0)},
    {"duration", Duration(std::numeric_limits<int64_t>::min(), 0)},
    {"rate_hz", Rate(-1)},
    {"rate_hz", Rate(1e-9)},
    {"rate_hz", Rate(200'001)},
    {"rate_hz", Rate(std::numeric_limits<double>::quiet_NaN())},
    {"rate_hz", Rate(std::numeric_limits<double>::infinity())},
    {"rate_hz", Rate(-std::numeric_limits<double>::infinity())},
    {"rate_hz", Rate(std::numeric_limits<double>::max())},
    {"rate_hz", Rate(std::numeric_limits<double>::denorm_min())},
    {"as_fast_as_possible",
     [](v1::CaptureSpec& spec) {
       Rate(5)(spec);
       spec.mutable_sample()->set_as_fast_as_possible(true);
     }},
    {"max_overhead", Overhead(0)},
    {"max_overhead", Overhead(-0.5)},
    {"max_overhead", Overhead(1.5)},
    {"max_overhead", Overhead(std::numeric_limits<double>::quiet_NaN())},
    {"max_overhead", Overhead(std::numeric_limits<double>::infinity())},
    {"no_overhead_limit",
     [](v1::CaptureSpec& spec) {
       Overhead(0.5)(spec);
       spec.mutable_sample()->set_no_overhead_limit(true);
     }},
    {"max_depth", [](v1::CaptureSpec& spec) { spec.mutable_sample()->set_max_depth(1'000'001); }},
    {"max_depth", [](v1::CaptureSpec& spec) { spec.mutable_sample()->set_max_depth(UINT32_MAX); }},
    {"threads", Threads(4097, 7)},
    {"threads", Threads(1, 0)},
    {"threads", Threads(1, -7)},
    {"threads", Threads(1, std::numeric_limits<int32_t>::max())},
    {"nonblocking",
     [](v1::CaptureSpec& spec) {
       spec.mutable_sample()->set_blocking(true);
       spec.mutable_sample()->set_no_stops(true);
     }},
};

TEST(CheckSpec, RefusesWhatMakesNoSenseAndNamesIt) {
  ASSERT_TRUE(TaskFrom(Good()).has_value());
  int row = 0;
  for (const Bad& bad : kBad) {
    v1::CaptureSpec spec = Good();
    bad.change(spec);
    const auto request = TaskFrom(spec);
    ASSERT_TRUE(request.has_error()) << "row " << row << ": " << spec.ShortDebugString();
    EXPECT_EQ(request.error().code, Code::kInvalidArgument);
    EXPECT_NE(request.error().message.find(bad.named), std::string::npos) << request.error().message;
    ++row;
  }
}

TEST(CheckSpec, AChoiceOfTheFutureIsNotYet) {
  const std::function<void(v1::CaptureSpec&)> changes[] = {
      [](v1::CaptureSpec& spec) { spec.set_mode(static_cast<v1::Mode>(77)); },
      [](v1::CaptureSpec& spec) { spec.set_gpu(static_cast<v1::GpuDetail>(77)); },
      [](v1::CaptureSpec& spec) { spec.set_gpu_counters(static_cast<v1::GpuCounters>(77)); },
      [](v1::CaptureSpec& spec) { spec.mutable_sample()->set_idle(static_cast<v1::IdlePolicy>(77)); },
  };
  for (const auto& change : changes) {
    v1::CaptureSpec spec = Good();
    change(spec);
    ASSERT_TRUE(TaskFrom(spec).has_error());
    EXPECT_EQ(TaskFrom(spec).error().code, Code::kUnimplemented);
    EXPECT_EQ(TaskFrom(spec).error().reason, Reason::kNotYet);
  }
}

TEST(CheckSpec, OnlyWhatComesInCanBeForced) {
  v1::CaptureSpec spec = Good();
  spec.set_force(true);
  EXPECT_EQ(TaskFrom(spec).error().code, Code::kInvalidArgument);
  spec.set_gpu(v1::GPU_DETAIL_COARSE);
  ASSERT_TRUE(TaskFrom(spec).has_value());
  EXPECT_TRUE(TaskFrom(spec).value().spec().force());
}

v1::CaptureSpec Traced() {
  v1::CaptureSpec spec = Good();
  spec.set_mode(v1::MODE_TRACE);
  return spec;
}

TEST(CheckSpec, BadPatternsAreRefusedByName) {
  const std::pair<std::function<void(v1::CaptureSpec&)>, std::string> rows[] = {
      {[](v1::CaptureSpec& spec) { spec.mutable_trace()->add_filter("[a-z"); }, "'[a-z'"},
      {[](v1::CaptureSpec& spec) { spec.mutable_trace()->add_exclude("x\\"); }, "trace.exclude: 'x\\'"},
      {[](v1::CaptureSpec& spec) { spec.mutable_trace()->add_filter(""); }, "trace.filter: '' is not a valid pattern"},
      {[](v1::CaptureSpec& spec) {
         spec.set_mode(v1::MODE_SAMPLE);
         spec.mutable_trace()->add_filter("f");
       },
       "trace.filter needs MODE_TRACE or MODE_AUTO, not MODE_SAMPLE"},
  };
  for (const auto& [change, named] : rows) {
    v1::CaptureSpec spec = Traced();
    change(spec);
    const auto read = TaskFrom(spec);
    ASSERT_TRUE(read.has_error()) << named;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_NE(read.error().message.find(named), std::string::npos) << read.error().message;
    EXPECT_FALSE(read.error().remedy.empty());
  }
}

TEST(CheckSpec, AskedOnTheCommandLineItIsNamedByItsFlag) {
  v1::CaptureSpec spec = Traced();
  spec.mutable_sample()->set_gil_only(true);
  EXPECT_EQ(CheckSpec(spec, SpecDoor::kCommandLine).error().message, "--gil needs --mode sample, not --mode trace");
  spec = Good();
  spec.mutable_sample()->set_rate_hz(1e9);
  EXPECT_NE(CheckSpec(spec, SpecDoor::kCommandLine).error().remedy.find("or max"), std::string::npos);
}

TEST(CheckSpec, RefusesStepsThatMakeNoSense) {
  const struct {
    void (*change)(v1::TraceOptions&);
    const char* named;
    Code code = Code::kInvalidArgument;
  } rows[] = {
      {[](v1::TraceOptions& t) { t.set_steps(1'000'000'001); }, "trace.steps"},
      {[](v1::TraceOptions& t) { t.mutable_schedule(); }, "trace.schedule.active"},
      {[](v1::TraceOptions& t) {
         t.mutable_schedule()->set_active(1);
         t.mutable_schedule()->set_wait(1'000'000'001);
       },
       "trace.schedule.wait"},
      {[](v1::TraceOptions& t) {
         t.mutable_schedule()->set_active(1);
         t.set_steps(1);
       },
       "both"},
      {[](v1::TraceOptions& t) { t.set_on_full(static_cast<v1::OnFull>(77)); }, "trace.on_full", Code::kUnimplemented},
  };
  for (const auto& row : rows) {
    v1::CaptureSpec spec = Traced();
    row.change(*spec.mutable_trace());
    const auto read = TaskFrom(spec);
    ASSERT_TRUE(read.has_error()) << row.named;
    EXPECT_EQ(read.error().code, row.code) << row.named;
    EXPECT_NE(read.error().message.find(row.named), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().remedy, "") << row.named;
  }
}

TEST(CheckSpec, PatternsAreBoundedBeforeAnybodyReadsThem) {
  const std::function<void(v1::TraceOptions&)> changes[] = {
      [](v1::TraceOptions& t) { t.add_filter(std::string(3'000'000, '*')); },
      [](v1::TraceOptions& t) { t.add_exclude(std::string(257, 'x')); },
      [](v1::TraceOptions& t) {
        for (int i = 0; i < 200'000; ++i) {
          t.add_filter("x");
        }
      },
      [](v1::TraceOptions& t) { t.add_filter(std::string("a\0b", 3)); },
      [](v1::TraceOptions& t) { t.add_exclude(""); },
      [](v1::TraceOptions& t) { t.add_exclude("["); }};
  for (const auto& change : changes) {
    v1::CaptureSpec spec = Good();
    spec.set_mode(v1::MODE_TRACE);
    change(*spec.mutable_trace());
    const auto read = TaskFrom(spec);
    ASSERT_TRUE(read.has_error()) << spec.ShortDebugString().substr(0, 200);
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_LT(read.error().message.size(), 1000U);
    EXPECT_NE(read.error().remedy, "");
  }
}

TEST(CheckSpec, OptionsAboutSamplesAreRefusedWithATrace) {
  for (const char* name : {"rate_hz", "as_fast_as_possible", "max_overhead", "no_overhead_limit", "idle", "threads",
                           "gil_only", "blocking", "nonblocking", "max_stopped", "no_stopped_limit"}) {
    v1::CaptureSpec spec = Good();
    spec.set_mode(v1::MODE_TRACE);
    v1::SampleOptions& sample = *spec.mutable_sample();
    const auto* field = sample.GetDescriptor()->FindFieldByName(name);
    ASSERT_NE(field, nullptr) << name;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
        sample.GetReflection()->SetBool(&sample, field, true);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
        sample.GetReflection()->SetDouble(&sample, field, 0.5);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        sample.GetReflection()->SetEnumValue(&sample, field, v1::IDLE_POLICY_ALL);
        break;
      default: sample.add_threads(7);
    }
    const auto read = TaskFrom(spec);
    ASSERT_TRUE(read.has_error()) << name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_NE(read.error().message.find(name), std::string::npos) << read.error().message;
  }
}

TEST(CheckSpec, AutoTakesOptionsOfBoth) {
  v1::CaptureSpec spec = Good();
  spec.set_mode(v1::MODE_AUTO);
  spec.mutable_trace()->set_c_calls(true);
  spec.mutable_sample()->set_rate_hz(50);
  const auto read = TaskFrom(spec);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read.value().spec().mode(), v1::MODE_AUTO);
  EXPECT_TRUE(read.value().spec().trace().c_calls());
  EXPECT_EQ(RateOf(read.value().spec().sample()), 50);
  for (const auto& about_samples :
       {&v1::SampleOptions::set_gil_only, &v1::SampleOptions::set_blocking, &v1::SampleOptions::set_nonblocking}) {
    v1::CaptureSpec refused = spec;
    (refused.mutable_sample()->*about_samples)(true);
    EXPECT_TRUE(TaskFrom(refused).has_error());
  }
}

TEST(CheckSpec, AutoTracesWithinALimitUnlessAskedOtherwise) {
  const auto limit_of = [](const v1::CaptureSpec& spec) {
    return TaskFrom(spec).value().spec().trace().max_overhead();
  };
  v1::CaptureSpec spec = Good();
  spec.set_mode(v1::MODE_AUTO);
  EXPECT_EQ(limit_of(spec), kAutoTraceOverhead);
  spec.mutable_trace()->set_max_overhead(0.5);
  EXPECT_EQ(limit_of(spec), 0.5);
  spec.mutable_trace()->set_no_overhead_limit(true);
  EXPECT_EQ(TaskFrom(spec).error().code, Code::kInvalidArgument);
  spec.mutable_trace()->set_max_overhead(0);
  EXPECT_EQ(limit_of(spec), 0);
  spec.mutable_trace()->set_no_overhead_limit(false);
  spec.set_mode(v1::MODE_TRACE);
  EXPECT_EQ(limit_of(spec), 0);
}

TEST(CheckSpec, ARateThatIsAskedForIsKept) {
  v1::CaptureSpec spec = Good();
  EXPECT_EQ(StoppedLimitOf(TaskFrom(spec).value().spec().sample()), kDefaultMaxStopped);
  spec.mutable_sample()->set_rate_hz(500);
  EXPECT_EQ(StoppedLimitOf(TaskFrom(spec).value().spec().sample()), 0);
  spec.mutable_sample()->set_max_stopped(0.5);
  EXPECT_EQ(StoppedLimitOf(TaskFrom(spec).value().spec().sample()), 0.5);
}

TEST(CheckSpec, AsFastAsPossibleStopsNothingUnlessAskedTo) {
  v1::CaptureSpec spec = Good();
  EXPECT_EQ(StopsOf(TaskFrom(spec).value().spec().sample()), StopPolicy::kBrief);
  spec.mutable_sample()->set_as_fast_as_possible(true);
  EXPECT_EQ(StopsOf(TaskFrom(spec).value().spec().sample()), StopPolicy::kNone);
  spec.mutable_sample()->set_blocking(true);
  EXPECT_EQ(StopsOf(TaskFrom(spec).value().spec().sample()), StopPolicy::kAll);
  spec.mutable_sample()->Clear();
  spec.mutable_sample()->set_no_stops(true);
  EXPECT_EQ(StopsOf(TaskFrom(spec).value().spec().sample()), StopPolicy::kNone);
}

TEST(CheckSpec, RefusesUnknownFieldsAtAnyDepth) {
  v1::CreateCaptureRequest request;
  *request.mutable_spec() = Good();
  request.mutable_spec()->mutable_sample()->set_gil_only(true);
  request.mutable_spec()->mutable_duration()->set_seconds(1);
  EXPECT_TRUE(RefuseUnknownFields(request).has_value());
  const std::function<google::protobuf::Message*(v1::CreateCaptureRequest&)> places[] = {
      [](v1::CreateCaptureRequest& r) { return static_cast<google::protobuf::Message*>(&r); },
      [](v1::CreateCaptureRequest& r) { return static_cast<google::protobuf::Message*>(r.mutable_spec()); },
      [](v1::CreateCaptureRequest& r) {
        return static_cast<google::protobuf::Message*>(r.mutable_spec()->mutable_target());
      },
      [](v1::CreateCaptureRequest& r) {
        return static_cast<google::protobuf::Message*>(r.mutable_spec()->mutable_sample());
      },
      [](v1::CreateCaptureRequest& r) {
        return static_cast<google::protobuf::Message*>(r.mutable_spec()->mutable_duration());
      },
  };
  for (const auto& place : places) {
    v1::CreateCaptureRequest changed = request;
    google::protobuf::Message* message = place(changed);
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(12345, 1);
    const auto refused = RefuseUnknownFields(changed);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("12345"), std::string::npos);
  }
}

TEST(CheckSpec, TheLimitsThemselvesAreAllowed) {
  v1::CaptureSpec spec = Good();
  spec.mutable_duration()->set_seconds(366 * 24 * 3600);
  spec.mutable_sample()->set_rate_hz(200'000);
  spec.mutable_sample()->set_max_overhead(1);
  spec.mutable_sample()->set_max_depth(1'000'000);
  Threads(4096, 4'194'304)(spec);
  EXPECT_TRUE(TaskFrom(spec).has_value());
}

}  // namespace
}  // namespace ptrace_prof
