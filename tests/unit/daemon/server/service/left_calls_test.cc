// Clients that go away while their call goes on: nothing waits for the call, and a client that comes back finds it.

#include <grpcpp/grpcpp.h>

#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/daemon/server/service/serving.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

TEST(LeftCalls, TheirConnectionDoesNotWaitForTheCollector) {
  FakeStarter starter;
  starter.deaf = true;
  Serving serving(Way::kUnixSocket, {.stop_patience = Nanos::FromSeconds(3600)}, &starter);
  {
    grpc::ClientContext context;  // holds the connection
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    v1::DumpStacksRequest request;
    request.mutable_target()->set_pid(7);
    v1::DumpStacksResponse response;
    EXPECT_EQ(serving.captures().DumpStacks(&context, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  ASSERT_EQ(starter.started().size(), 1U);
  EXPECT_TRUE(Eventually([&] { return starter.started().front()->stopped.load(); }));
  serving.HangUp();
  EXPECT_TRUE(Eventually([&] { return serving.connections() == 0; }));
  EXPECT_EQ(serving.registry().CountGoingOn(), 1U) << "the collector has not ended";
  starter.started().front()->output.reset();
}

// The call of a lost connection ends long after the connection.
TEST(LeftCalls, WhoRecordsAgainIsNotCutOffByTheEndOfTheFirstCall) {
  FakeStarter starter;
  Serving serving(Way::kInProcess, {}, &starter);
  v1::RecordRequest request;
  *request.mutable_spec() = SpecFor(7);
  request.set_request_id("again");
  grpc::ClientContext lost;
  grpc::ClientContext second;
  const auto first_stream = serving.captures().Record(&lost, request);
  v1::RecordEvent event;
  ASSERT_TRUE(first_stream->Read(&event));
  const auto second_stream = serving.captures().Record(&second, request);
  ASSERT_TRUE(second_stream->Read(&event));
  lost.TryCancel();
  while (first_stream->Read(&event)) {
  }
  EXPECT_EQ(first_stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_EQ(starter.started().size(), 1U);
  FakeCollectorState& collector = *starter.started().front();
  for (int signs = 0; signs < 3; ++signs) {  // signs of life come about once a second
    ASSERT_TRUE(second_stream->Read(&event));
  }
  EXPECT_FALSE(collector.stopped);
  ASSERT_TRUE(WriteAll(collector.output.get(), SmallTrace()));
  collector.output.reset();
  while (second_stream->Read(&event)) {
  }
  EXPECT_TRUE(second_stream->Finish().ok());
}

}  // namespace
}  // namespace ptrace_prof
