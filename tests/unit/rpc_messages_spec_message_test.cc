// A request that became a message is the same request when it has come out of it again.

#include <gtest/gtest.h>

#include "rpc/messages/idle_policy_message.h"
#include "rpc/messages/request_from_message.h"
#include "rpc/messages/spec_message.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

CaptureRequest Request() {
  CaptureRequest request;
  request.pid = Pid(7);
  return request;
}

void ExpectSame(const CaptureRequest& sent) {
  v1::CaptureSpec message;
  FillSpec(sent, &message);
  const auto arrived = RequestFrom(message);
  ASSERT_TRUE(arrived.has_value()) << arrived.error().message;
  EXPECT_EQ(EncodeRequest(arrived.value()), EncodeRequest(sent));
}

TEST(SpecMessage, LosesNothing) {
  ExpectSame(Request());
  CaptureRequest all = Request();
  all.start_ticks = 12'345;
  all.duration = Nanos::FromMillis(1500);
  all.rate_hz = 0;
  all.max_overhead = 0;
  all.max_depth = 17;
  all.threads = {Tid(8), Tid(9)};
  all.gil_only = true;
  all.subprocesses = false;
  all.wait_for_python = true;
  all.gpu_counters = GpuCounters::kOn;
  all.stops = StopPolicy::kNone;
  ExpectSame(all);
  all.stops = StopPolicy::kAll;
  ExpectSame(all);
  all.gpu = GpuCaptureDetail::kCoarse;
  all.force = true;
  ExpectSame(all);
  for (const IdlePolicy idle : {IdlePolicy::kMain, IdlePolicy::kAll, IdlePolicy::kNone}) {
    all.idle = idle;
    ExpectSame(all);
    EXPECT_EQ(FromMessage(ToMessage(idle)), idle);
  }
}

TEST(SpecMessage, OfADumpLosesNothing) {
  CaptureRequest dump = Request();
  dump.verb = CaptureVerb::kDump;
  dump.idle = IdlePolicy::kAll;  // as always in a dump
  dump.locals = true;
  dump.subprocesses = false;
  dump.stops = StopPolicy::kNone;
  dump.max_depth = 99;
  v1::DumpStacksRequest message;
  FillDumpRequest(dump, &message);
  const auto arrived = RequestFrom(message);
  ASSERT_TRUE(arrived.has_value()) << arrived.error().message;
  EXPECT_EQ(EncodeRequest(arrived.value()), EncodeRequest(dump));
}

TEST(IdlePolicyMessage, OfTheFutureIsNotKnown) {
  EXPECT_EQ(FromMessage(v1::IDLE_POLICY_UNSPECIFIED), IdlePolicy::kMain);
  EXPECT_EQ(FromMessage(static_cast<v1::IdlePolicy>(99)), std::nullopt);
}

}  // namespace
}  // namespace ptrace_prof
