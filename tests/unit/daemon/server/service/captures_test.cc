// Captures as resources: created, watched, cancelled, deleted; many at once.

#include <grpcpp/grpcpp.h>

#include <set>

#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/daemon/server/service/serving.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

class Captures : public BothWays {
 protected:
  grpc::Status Create(const v1::CreateCaptureRequest& request, v1::Capture* out) {
    grpc::ClientContext context;
    return serving_.captures().CreateCapture(&context, request, out);
  }
  grpc::Status Cancel(const std::string& name, v1::Capture* out) {
    grpc::ClientContext context;
    v1::CancelCaptureRequest request;
    request.set_name(name);
    return serving_.captures().CancelCapture(&context, request, out);
  }
  grpc::Status Delete(const std::string& name, bool force = false) {
    grpc::ClientContext context;
    v1::DeleteCaptureRequest request;
    request.set_name(name);
    request.set_force(force);
    google::protobuf::Empty ignored;
    return serving_.captures().DeleteCapture(&context, request, &ignored);
  }
  grpc::Status Get(const std::string& name, v1::Capture* out) {
    grpc::ClientContext context;
    v1::GetCaptureRequest request;
    request.set_name(name);
    return serving_.captures().GetCapture(&context, request, out);
  }
  v1::ListCapturesResponse List(int page_size = 0, const std::string& token = "") {
    grpc::ClientContext context;
    v1::ListCapturesRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    v1::ListCapturesResponse response;
    EXPECT_TRUE(serving_.captures().ListCaptures(&context, request, &response).ok());
    return response;
  }
  static v1::CreateCaptureRequest RequestFor(pid_t pid, double seconds = 0) {
    v1::CreateCaptureRequest request;
    *request.mutable_spec() = SpecFor(pid, seconds);
    return request;
  }
};
INSTANTIATE_TEST_SUITE_P(, Captures, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

TEST_P(Captures, ARetryGetsTheFirstCapture) {
  const auto target = Spinning();
  auto request = RequestFor(target->pid());
  request.set_request_id("8a0e");
  v1::Capture first;
  v1::Capture again;
  ASSERT_TRUE(Create(request, &first).ok());
  ASSERT_TRUE(Create(request, &again).ok());
  EXPECT_EQ(first.name(), again.name());
  EXPECT_EQ(List().captures_size(), 1);
  request.set_request_id("8a0f");
  ASSERT_TRUE(Create(request, &again).ok());
  EXPECT_NE(first.name(), again.name());
}

TEST_P(Captures, AChosenNameIsTakenOnce) {
  const auto target = Spinning();
  auto request = RequestFor(target->pid());
  request.set_capture_id("nightly-1");
  v1::Capture capture;
  ASSERT_TRUE(Create(request, &capture).ok());
  EXPECT_TRUE(capture.name().ends_with("/captures/nightly-1"));
  const auto taken = Create(request, &capture);
  EXPECT_EQ(taken.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(taken), "CAPTURE_EXISTS");
  for (const std::string& bad : std::vector<std::string>{"Nightly", "a/b", "..", std::string(64, 'a'), "a b"}) {
    request.set_capture_id(bad);
    EXPECT_EQ(Create(request, &capture).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad;
  }
}

TEST_P(Captures, ValidationStartsNothing) {
  const auto target = Spinning();
  auto request = RequestFor(target->pid(), 10);
  request.set_validate_only(true);
  v1::Capture capture;
  const auto fine = Create(request, &capture);
  EXPECT_TRUE(fine.ok()) << fine.error_message();
  EXPECT_EQ(capture.name(), "");
  request.mutable_spec()->mutable_target()->set_pid(4'194'303);
  EXPECT_EQ(ReasonOf(Create(request, &capture)), "PROCESS_NOT_FOUND");
  TestTarget other({"/bin/sh", "-c", "echo ready; exec sleep 1000"});
  request.mutable_spec()->mutable_target()->set_pid(other.pid());
  EXPECT_EQ(ReasonOf(Create(request, &capture)), "NOT_PYTHON");
  EXPECT_EQ(List().captures_size(), 0);
  EXPECT_TRUE(Eventually([&] { return CountCollectors({target->pid(), other.pid()}) == 0; }));
}

TEST_P(Captures, WatchingShowsLifeAndTheEnd) {
  const auto target = Spinning();
  v1::Capture capture;
  ASSERT_TRUE(Create(RequestFor(target->pid()), &capture).ok());
  grpc::ClientContext context;
  v1::WatchCaptureRequest request;
  request.set_name(capture.name());
  const auto stream = serving_.captures().WatchCapture(&context, request);
  v1::CaptureEvent event;
  int while_running = 0;
  bool cancelled = false;
  v1::State state = v1::STATE_UNSPECIFIED;
  while (stream->Read(&event)) {
    EXPECT_GE(event.capture().state(), state);
    state = event.capture().state();
    while_running += state == v1::STATE_RUNNING ? 1 : 0;
    if (while_running == 3 && !cancelled) {
      cancelled = true;
      EXPECT_TRUE(Cancel(capture.name(), &capture).ok());
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(state, v1::STATE_CANCELLED);
  EXPECT_TRUE(Cancel(capture.name(), &capture).ok()) << "again is no error";
  EXPECT_GT(event.capture().end_time().seconds(), 0);
}

TEST_P(Captures, DeletingForgets) {
  const auto target = Spinning();
  v1::Capture capture;
  ASSERT_TRUE(Create(RequestFor(target->pid()), &capture).ok());
  EXPECT_EQ(ReasonOf(Delete(capture.name())), "CAPTURE_NOT_ENDED");
  EXPECT_TRUE(Delete(capture.name(), true).ok());
  EXPECT_EQ(ReasonOf(Get(capture.name(), &capture)), "CAPTURE_NOT_FOUND");
  EXPECT_EQ(List().captures_size(), 0);
  EXPECT_TRUE(Eventually([&] {
    serving_.registry().Expire();
    return CountCollectors({target->pid()}) == 0;
  }));
  EXPECT_EQ(HarmOf(target->pid()), "");
  ASSERT_TRUE(Create(RequestFor(target->pid()), &capture).ok());
  ASSERT_TRUE(Cancel(capture.name(), &capture).ok());
  AwaitEnd(serving_, capture.name());
  EXPECT_TRUE(Delete(capture.name()).ok());
  EXPECT_EQ(ReasonOf(Delete(capture.name())), "CAPTURE_NOT_FOUND");
}

TEST_P(Captures, ForeignNamesAreRefused) {
  v1::Capture capture;
  EXPECT_EQ(Get("nodes/elsewhere/captures/c1", &capture).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Get("nodes/-/captures/c1", &capture).error_code(), grpc::StatusCode::NOT_FOUND);
  for (const char* bad : {"", "c1", "nodes/x", "captures/c1", "/nodes/-/captures/c1"}) {
    EXPECT_EQ(Get(bad, &capture).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad;
    EXPECT_EQ(Delete(bad).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad;
  }
  EXPECT_EQ(Get(std::string(100'000, 'n'), &capture).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(Captures, WhatANewerClientAsksForIsRefused) {
  v1::GetCaptureRequest get;
  get.set_name("nodes/-/captures/c1");
  get.GetReflection()->MutableUnknownFields(&get)->AddVarint(1000, 1);
  grpc::ClientContext getting;
  v1::Capture capture;
  EXPECT_EQ(serving_.captures().GetCapture(&getting, get, &capture).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::ReadTraceRequest read;
  read.set_name("nodes/-/captures/c1");
  read.GetReflection()->MutableUnknownFields(&read)->AddVarint(1000, 1);
  EXPECT_EQ(ReadTrace(serving_, read).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(Captures, AHugeRequestIsRefusedAndTheServerLives) {
  v1::CreateCaptureRequest request = RequestFor(::getpid());
  request.set_request_id(std::string(100 << 20, 'x'));
  v1::Capture capture;
  EXPECT_EQ(Create(request, &capture).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  request.set_request_id(std::string(129, 'x'));
  EXPECT_EQ(Create(request, &capture).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// 50 captures of 10 processes at once: each sample that was counted arrives, and each missed one is counted.
TEST_P(Captures, ManyAtOnceLoseNothingInSilence) {
  constexpr int kTargets = 10;
  constexpr int kCaptures = 50;
  constexpr double kRate = 50;
  std::vector<std::unique_ptr<TestTarget>> targets;
  std::vector<pid_t> pids;
  for (int i = 0; i < kTargets; ++i) {
    targets.push_back(Spinning());
    pids.push_back(targets.back()->pid());
  }
  std::vector<std::string> names;
  for (int i = 0; i < kCaptures; ++i) {
    v1::CreateCaptureRequest request;
    *request.mutable_spec() = SpecFor(pids[i % kTargets], 2, kRate);
    v1::Capture capture;
    const auto status = Create(request, &capture);
    ASSERT_TRUE(status.ok()) << status.error_message();
    names.push_back(capture.name());
  }
  uint64_t fewest = UINT64_MAX;
  uint64_t most = 0;
  for (const std::string& name : names) {
    const v1::Capture capture = AwaitEnd(serving_, name);
    EXPECT_EQ(capture.state(), v1::STATE_SUCCEEDED) << capture.error().message();
    v1::ReadTraceRequest read;
    read.set_name(name);
    const Received received = ReadTrace(serving_, read);
    EXPECT_TRUE(received.status.ok() && received.last && received.has_end);
    const v1::Totals& totals = capture.totals();
    EXPECT_EQ(totals.samples(), received.samples);
    const double seconds = static_cast<double>(totals.wall_time().seconds()) + totals.wall_time().nanos() / 1e9;
    const double accounted =
        static_cast<double>(totals.samples() + totals.lost() + totals.idle_skipped() + totals.missed_rounds());
    EXPECT_GE(accounted, 0.8 * kRate * seconds) << capture.DebugString();
    fewest = std::min<uint64_t>(fewest, totals.samples());
    most = std::max<uint64_t>(most, totals.samples());
  }
  RecordProperty("fewest_samples", static_cast<int>(fewest));
  RecordProperty("most_samples", static_cast<int>(most));
  EXPECT_EQ(CountCollectors(pids), 0U);
  for (const pid_t pid : pids) {
    EXPECT_EQ(HarmOf(pid), "");
  }
}

TEST_P(Captures, PagesShowEachOnce) {
  FakeStarter starter;
  starter.end_at_once = true;
  CaptureRegistry::Creation creation{.owner = {::getuid()}};
  SetTarget(Pid(7), &creation.request);
  std::set<std::string> created;
  for (int i = 0; i < 7; ++i) {
    const auto session = serving_.registry().Create(creation, starter.access());
    ASSERT_TRUE(session.has_value());
    created.insert(session.value()->parameters().id);
  }
  std::set<std::string> seen;
  std::string token;
  int pages = 0;
  do {
    const auto page = List(3, token);
    for (const v1::Capture& capture : page.captures()) {
      seen.insert(capture.name().substr(capture.name().rfind('/') + 1));
    }
    token = page.next_page_token();
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(seen, created);
  grpc::ClientContext context;
  v1::ListCapturesRequest request;
  request.set_page_token("nonsense");
  v1::ListCapturesResponse response;
  EXPECT_EQ(serving_.captures().ListCaptures(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ptrace_prof
