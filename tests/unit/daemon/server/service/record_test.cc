// Record: one call that creates a capture, reads it and ends it.

#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>

#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/service/serving.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

class Recording : public BothWays {
 protected:
  // After the call of Record has ended, nothing of it may be left at the target, or anywhere else.
  void ExpectDetached(pid_t target) {
    const Nanos begin = MonotonicNow();
    EXPECT_TRUE(Eventually([&] { return CountCollectors({target}) == 0; }));
    RecordProperty("detached_after_us", static_cast<int>((MonotonicNow() - begin).value / 1000));
    EXPECT_EQ(HarmOf(target), "");
    EXPECT_TRUE(Eventually([&] {
      serving_.registry().Expire();
      return serving_.registry().List({::getuid(), true}).empty();
    }));
  }

  static v1::RecordRequest RequestFor(pid_t pid, double seconds = 0) {
    v1::RecordRequest request;
    *request.mutable_spec() = SpecFor(pid, seconds);
    request.mutable_spec()->mutable_sample()->set_blocking(true);  // has the most to undo at the end
    request.set_max_chunk_bytes(4096);
    return request;
  }
};
INSTANTIATE_TEST_SUITE_P(, Recording, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

TEST_P(Recording, EveryChunkEndsAReadableTrace) {
  const auto target = Spinning();
  grpc::ClientContext context;
  auto request = RequestFor(target->pid(), 1);
  request.mutable_spec()->mutable_sample()->set_blocking(false);
  request.mutable_spec()->mutable_sample()->set_rate_hz(2000);
  const Received received = Record(serving_, context, request);
  ASSERT_TRUE(received.status.ok()) << received.status.error_message();
  EXPECT_GT(received.ends.size(), 2U);
  EXPECT_TRUE(received.has_end);
  ASSERT_GE(received.captures.size(), 2U);
  for (size_t i = 1; i < received.captures.size(); ++i) {
    EXPECT_GE(received.captures[i].state(), received.captures[i - 1].state());
  }
  const v1::Capture& last = received.captures.back();
  EXPECT_EQ(last.state(), v1::STATE_SUCCEEDED);
  EXPECT_EQ(last.trace_bytes(), received.trace.size());
  EXPECT_GT(received.samples, 0U);
  EXPECT_EQ(last.totals().samples(), received.samples) << "every sample that was counted is in the trace";
  EXPECT_EQ(last.owner_uid(), ::getuid());
  ExpectDetached(target->pid());
}

TEST_P(Recording, EndsWhenTheClientGoes) {
  const auto target = Spinning();
  grpc::ClientContext context;
  const Received received = Record(serving_, context, RequestFor(target->pid()), [&](const v1::RecordEvent& event) {
    if (event.has_chunk()) {
      context.TryCancel();
    }
  });
  EXPECT_EQ(received.status.error_code(), grpc::StatusCode::CANCELLED);
  ExpectDetached(target->pid());
}

TEST_P(Recording, EndsAtItsDeadline) {
  const auto target = Spinning();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(700));
  const Received received = Record(serving_, context, RequestFor(target->pid()));
  EXPECT_EQ(received.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectDetached(target->pid());
}

TEST_P(Recording, CancelLetsTheRestOfTheTraceThrough) {
  const auto target = Spinning();
  grpc::ClientContext context;
  bool cancelled = false;
  const Received received = Record(serving_, context, RequestFor(target->pid()), [&](const v1::RecordEvent& event) {
    if (!cancelled && event.has_capture() && event.capture().state() == v1::STATE_RUNNING) {
      cancelled = true;
      grpc::ClientContext other;
      v1::CancelCaptureRequest cancel;
      cancel.set_name(event.capture().name());
      v1::Capture ignored;
      EXPECT_TRUE(serving_.captures().CancelCapture(&other, cancel, &ignored).ok());
    }
  });
  EXPECT_TRUE(received.status.ok()) << received.status.error_message();
  EXPECT_TRUE(received.has_end);
  EXPECT_EQ(received.captures.back().state(), v1::STATE_CANCELLED);
  EXPECT_EQ(received.captures.back().end_message(), "cancelled");
  EXPECT_FALSE(received.captures.back().has_error());
  ExpectDetached(target->pid());
}

// A service with little patience for collectors that do not end.
class FrozenCollector : public testing::TestWithParam<Way> {
 protected:
  Serving serving_{GetParam(), {.stop_patience = Nanos::FromMillis(100)}};
};
INSTANTIATE_TEST_SUITE_P(, FrozenCollector, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

TEST_P(FrozenCollector, EndsAsCancelled) {
  const auto target = Spinning();
  grpc::ClientContext context;
  v1::RecordRequest request;
  *request.mutable_spec() = SpecFor(target->pid());
  bool cancelled = false;
  const Received received = Record(serving_, context, request, [&](const v1::RecordEvent& event) {
    if (!cancelled && event.has_capture() && event.capture().state() == v1::STATE_RUNNING) {
      cancelled = true;
      const std::vector<pid_t> collectors = Collectors({target->pid()});
      ASSERT_EQ(collectors.size(), 1U);
      ::kill(collectors[0], SIGSTOP);
      grpc::ClientContext other;
      v1::CancelCaptureRequest cancel;
      cancel.set_name(event.capture().name());
      v1::Capture ignored;
      EXPECT_TRUE(serving_.captures().CancelCapture(&other, cancel, &ignored).ok());
    }
  });
  EXPECT_EQ(received.status.error_code(), grpc::StatusCode::CANCELLED) << received.status.error_message();
  EXPECT_EQ(ReasonOf(received.status), "CANCELLED");
  EXPECT_NE(received.status.error_message().find("was killed"), std::string::npos) << received.status.error_message();
  ASSERT_FALSE(received.captures.empty());
  const v1::Capture& last = received.captures.back();
  EXPECT_EQ(last.state(), v1::STATE_CANCELLED);
  EXPECT_EQ(last.error().code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(last.trace_bytes(), received.trace.size()) << "what was recorded is kept";
  EXPECT_TRUE(Eventually([&] { return CountCollectors({target->pid()}) == 0; }));
  EXPECT_EQ(HarmOf(target->pid()), "");
}

TEST_P(Recording, ATargetThatEndsIsASuccess) {
  const auto target = Spinning();
  grpc::ClientContext context;
  const Received received = Record(serving_, context, RequestFor(target->pid()), [&](const v1::RecordEvent& event) {
    if (event.has_capture() && event.capture().totals().samples() > 0) {
      ::kill(target->pid(), SIGKILL);
    }
  });
  EXPECT_TRUE(received.status.ok()) << received.status.error_message();
  EXPECT_EQ(received.captures.back().state(), v1::STATE_SUCCEEDED);
  EXPECT_FALSE(received.captures.back().end_message().empty());
}

TEST_P(Recording, KeptOnesOutliveTheirClient) {
  const auto target = Spinning();
  std::string name;
  {
    grpc::ClientContext context;
    auto request = RequestFor(target->pid());
    request.mutable_spec()->set_keep(true);
    Record(serving_, context, request, [&](const v1::RecordEvent& event) {
      if (event.has_chunk()) {
        context.TryCancel();
      } else {
        name = event.capture().name();
      }
    });
  }
  v1::Capture capture;
  grpc::ClientContext cancelling;
  v1::CancelCaptureRequest cancel;
  cancel.set_name(name);
  ASSERT_TRUE(serving_.captures().CancelCapture(&cancelling, cancel, &capture).ok());
  EXPECT_EQ(AwaitEnd(serving_, name).state(), v1::STATE_CANCELLED);
  v1::ReadTraceRequest read;
  read.set_name(name);
  const Received received = ReadTrace(serving_, read);
  EXPECT_TRUE(received.status.ok());
  EXPECT_TRUE(received.last);
  EXPECT_TRUE(received.has_end);
}

TEST_P(Recording, EndsWellAtItsSize) {
  const auto target = Spinning();
  grpc::ClientContext context;
  auto request = RequestFor(target->pid());
  request.mutable_spec()->set_max_bytes(20'000);
  request.mutable_spec()->mutable_sample()->set_blocking(false);
  request.mutable_spec()->mutable_sample()->set_rate_hz(10'000);
  const Received received = Record(serving_, context, request);
  EXPECT_TRUE(received.status.ok()) << received.status.error_message();
  EXPECT_EQ(received.captures.back().state(), v1::STATE_SUCCEEDED);
  EXPECT_NE(received.captures.back().end_message().find("20000"), std::string::npos);
  EXPECT_GE(received.trace.size(), 20'000U);
}

TEST_P(Recording, SaysWhyItCannot) {
  const auto refusal = [&](const v1::RecordRequest& request) {
    grpc::ClientContext context;
    const Received received = Record(serving_, context, request);
    EXPECT_FALSE(received.status.error_message().empty());
    return ReasonOf(received.status);
  };
  EXPECT_EQ(refusal(RequestFor(4'194'303, 1)), "PROCESS_NOT_FOUND");
  TestTarget shell({"/bin/sh", "-c", "echo ready; exec sleep 1000"});
  EXPECT_EQ(refusal(RequestFor(shell.pid(), 1)), "NOT_PYTHON");
  const auto target = Spinning();
  auto later = RequestFor(target->pid(), 1);
  later.mutable_spec()->mutable_target()->set_start_time_ticks(1);
  EXPECT_EQ(refusal(later), "PROCESS_NOT_FOUND");
  auto mode = RequestFor(target->pid(), 1);
  mode.mutable_spec()->set_mode(static_cast<v1::Mode>(7));
  EXPECT_EQ(refusal(mode), "NOT_YET");
  auto chunks = RequestFor(target->pid(), 1);
  chunks.set_max_chunk_bytes(1);
  EXPECT_EQ(refusal(chunks), "INVALID_REQUEST");
}

}  // namespace
}  // namespace ptrace_prof
