#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemon/trace/capture_request.h"

namespace ptrace_prof {
namespace {

CaptureRequest Unusual() {
  CaptureRequest request;
  request.verb = CaptureVerb::kDump;
  request.pid = Pid(4711);
  request.duration = Nanos(1'500'000'001);
  request.rate_hz = 0.1 + 0.2;  // must come back to the last bit
  request.max_overhead = 1e-7;
  request.max_depth = 17;
  request.idle = IdlePolicy::kNone;
  request.threads = {Tid(1), Tid(4'194'304)};
  request.gil_only = true;
  request.subprocesses = false;
  request.stops = StopPolicy::kAll;
  request.max_stopped = 0.05;
  request.locals = true;
  return request;
}

TEST(CaptureRequest, ComesBackAsItWas) {
  for (const CaptureRequest& request : {Unusual(), [] {
                                          CaptureRequest plain;
                                          plain.pid = Pid(1);
                                          return plain;
                                        }()}) {
    const auto decoded = DecodeRequest(EncodeRequest(request));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    const CaptureRequest& back = decoded.value();
    EXPECT_EQ(back.verb, request.verb);
    EXPECT_EQ(back.pid, request.pid);
    EXPECT_EQ(back.duration, request.duration);
    EXPECT_EQ(back.rate_hz, request.rate_hz);
    EXPECT_EQ(back.max_overhead, request.max_overhead);
    EXPECT_EQ(back.max_depth, request.max_depth);
    EXPECT_EQ(back.idle, request.idle);
    EXPECT_EQ(back.threads, request.threads);
    EXPECT_EQ(back.gil_only, request.gil_only);
    EXPECT_EQ(back.subprocesses, request.subprocesses);
    EXPECT_EQ(back.stops, request.stops);
    EXPECT_EQ(back.max_stopped, request.max_stopped);
    EXPECT_EQ(back.locals, request.locals);
  }
}

TEST(CaptureRequest, AModeThatWasChosenSaysWhy) {
  CaptureRequest request;
  request.pid = Pid(1);
  request.sampled_because = "process 1 was started with remote debugging disabled; nothing = more";
  const auto decoded = DecodeRequest(EncodeRequest(request));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(decoded.value().sampled_because, request.sampled_because);
  EXPECT_TRUE(DecodeRequest({"pid=1", "sampled_because=two\nlines"}).has_error());
  EXPECT_TRUE(DecodeRequest({"pid=1", "sampled_because=" + std::string(kMaxSentence + 1, 'x')}).has_error());
  EXPECT_EQ(DecodeRequest({"pid=1", "mode=auto"}).value().mode, CaptureMode::kAuto);
  for (const char* about_samples : {"gil_only=1", "stops=all", "stops=none", "verb=dump"}) {
    EXPECT_TRUE(DecodeRequest({"pid=1", "mode=auto", about_samples}).has_error()) << about_samples;
  }
}

CaptureRequest Filtered(std::vector<std::string> filter, std::vector<std::string> exclude) {
  CaptureRequest request;
  request.pid = Pid(1);
  request.mode = CaptureMode::kTrace;
  request.trace.filter = std::move(filter);
  request.trace.exclude = std::move(exclude);
  return request;
}

TEST(CaptureRequest, PatternsComeBackAsTheyWere) {
  const CaptureRequest request = Filtered({"a,b", "=", "[]x]"}, {"*.f"});
  const auto decoded = DecodeRequest(EncodeRequest(request));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(decoded.value().trace.filter, request.trace.filter);
  EXPECT_EQ(decoded.value().trace.exclude, request.trace.exclude);
}

TEST(CaptureRequest, BadPatternsAreRefusedByName) {
  CaptureRequest sampled = Filtered({}, {"f"});
  sampled.mode = CaptureMode::kSample;
  const std::pair<CaptureRequest, std::string> rows[] = {
      {Filtered({"[a-z"}, {}), "'[a-z'"},
      {Filtered({}, {"x\\"}), "exclude: 'x\\'"},
      {Filtered({""}, {}), "filter: '' is no pattern"},
      {Filtered({}, std::vector<std::string>(65, "f")), "exclude is given 65 times"},
      {sampled, "mode=sample"},
  };
  for (const auto& [request, named] : rows) {
    const auto decoded = DecodeRequest(EncodeRequest(request));
    ASSERT_TRUE(decoded.has_error()) << named;
    EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
    EXPECT_NE(decoded.error().message.find(named), std::string::npos) << decoded.error().message;
    EXPECT_FALSE(decoded.error().remedy.empty());
  }
}

TEST(CaptureRequest, WhatIsAboutTheNodeNeedsNoPid) {
  for (const auto& [verb, name] : {std::pair(CaptureVerb::kList, "list"), std::pair(CaptureVerb::kDoctor, "doctor")}) {
    CaptureRequest request;
    request.verb = verb;
    const auto decoded = DecodeRequest(EncodeRequest(request));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(decoded.value().verb, verb);
    EXPECT_EQ(decoded.value().pid, Pid(0));
    EXPECT_EQ(DecodeRequest({fmt::format("verb={}", name)}).value().verb, verb);
  }
  EXPECT_EQ(DecodeRequest({"verb=doctor", "pid=12"}).value().pid, Pid(12));
  EXPECT_TRUE(DecodeRequest({"verb=list", "pid=12"}).has_error());
  EXPECT_TRUE(DecodeRequest({"verb=dump"}).has_error());
}

TEST(CaptureRequest, DefaultsNeedOnlyAPid) {
  const auto decoded = DecodeRequest({"pid=12"});
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded.value().rate_hz, kDefaultRateHz);
  EXPECT_TRUE(decoded.value().subprocesses);
}

class Refused : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Refused, NamesKeyAndReason) {
  const auto [argument, expected] = GetParam();
  std::vector<std::string> arguments{argument};
  if (std::string_view(argument).substr(0, 4) != "pid=") {
    arguments.push_back("pid=1");
  }
  const auto decoded = DecodeRequest(arguments);
  ASSERT_TRUE(decoded.has_error()) << argument;
  EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
  const std::string text = decoded.error().message + " | " + decoded.error().remedy;
  EXPECT_NE(text.find(expected), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    CaptureRequest, Refused,
    testing::Values(
        std::pair("pid=0", "pid is missing"), std::pair("pid=-1", "1 to 4194304"), std::pair("pid=4194305", "4194304"),
        std::pair("pid=1x", "\"1x\""), std::pair("pid=", "\"\""), std::pair("pid", "\"pid\""),
        std::pair("colour=red", "colour=red"), std::pair("=1", "\"=1\""), std::pair("rate_hz=nan", "rate_hz"),
        std::pair("rate_hz=inf", "200000"), std::pair("rate_hz=-1", "rate_hz"), std::pair("rate_hz=0.0001", "0.001"),
        std::pair("rate_hz=200001", "200000"), std::pair("max_overhead=-0.1", "no limit"),
        std::pair("max_depth=0", "1 to 1000000"), std::pair("max_depth=4294967297", "max_depth"),
        std::pair("duration_ns=-5", "duration_ns"), std::pair("duration_ns=99999999999999999999", "366"),
        std::pair("verb=trace", "record, dump"), std::pair("idle=", "main, all or none"),
        std::pair("threads=1,,2", "commas"), std::pair("threads=", "threads"), std::pair("threads=0", "threads"),
        std::pair("threads=1,", "threads"), std::pair("locals=true", "0 or 1"), std::pair("locals=1", "verb=dump"),
        std::pair("steps=-1", "steps"), std::pair("steps=1000000001", "1000000000"), std::pair("steps=1", "mode=trace"),
        std::pair("schedule=active=1", "mode=trace"), std::pair("schedule=wait=1", "active at least 1"),
        std::pair("on_full=block", "drop, stop or throttle"), std::pair("gpu=all", "off, coarse, default or full"),
        std::pair("stops=some", "brief, none or all")));

TEST(CaptureRequest, StepsComeBackAsTheyWere) {
  CaptureRequest request;
  request.pid = Pid(1);
  request.mode = CaptureMode::kTrace;
  request.trace.steps = 7;
  request.trace.on_full = OnFull::kStop;
  request.trace.longest = Nanos(9);
  request.gpu = GpuCaptureDetail::kFull;
  auto back = DecodeRequest(EncodeRequest(request));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back.value().trace.steps, 7U);
  EXPECT_EQ(back.value().trace.on_full, OnFull::kStop);
  EXPECT_EQ(back.value().trace.longest, Nanos(9));
  EXPECT_EQ(back.value().gpu, GpuCaptureDetail::kFull);
  EXPECT_FALSE(back.value().trace.schedule.has_value());
  request.trace.schedule = StepSchedule{.skip_first = 1, .wait = 2, .warmup = 3, .active = 4, .repeat = 5};
  EXPECT_TRUE(DecodeRequest(EncodeRequest(request)).has_error());
  request.trace.steps = 0;
  back = DecodeRequest(EncodeRequest(request));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back.value().trace.schedule, request.trace.schedule);
  request.mode = CaptureMode::kAuto;
  EXPECT_TRUE(DecodeRequest(EncodeRequest(request)).has_value());
}

TEST(CaptureRequest, RefusesTwiceAndNone) {
  EXPECT_TRUE(DecodeRequest({"pid=1", "pid=2"}).has_error());
  EXPECT_TRUE(DecodeRequest({}).has_error());
}

TEST(CaptureRequest, RefusesEndlessThreadLists) {
  std::string list = "threads=1";
  for (int i = 0; i < 65'536; ++i) {
    list += ",1";
  }
  EXPECT_TRUE(DecodeRequest({"pid=1", list}).has_error());
}

TEST(CaptureRequest, MessagesHoldNoControlCharacters) {
  const auto decoded = DecodeRequest({"pid=1", "x\n\x1b[31m" + std::string(10'000, 'y')});
  ASSERT_TRUE(decoded.has_error());
  EXPECT_LT(decoded.error().message.size(), 200u);
  EXPECT_EQ(decoded.error().message.find('\x1b'), std::string::npos);
  EXPECT_EQ(decoded.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
