// Reading traces: resumed anywhere, by slow readers, of running captures.

#include <grpcpp/grpcpp.h>

#include <thread>

#include "attach/base/sanitizers.h"
#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/daemon/server/service/serving.h"
#include "tests/unit/eventually.h"

namespace ptrace_prof {
namespace {

class Reading : public testing::TestWithParam<Way> {
 protected:
  // A capture whose trace the test writes.
  std::string Create() {
    grpc::ClientContext context;
    v1::CreateCaptureRequest request;
    *request.mutable_spec() = SpecFor(7);
    v1::Capture capture;
    EXPECT_TRUE(serving_.captures().CreateCapture(&context, request, &capture).ok());
    return capture.name();
  }
  std::string CreateEnded(const std::string& trace) {
    std::string name = Create();
    EXPECT_TRUE(WriteAll(starter_.started().back()->output.get(), trace));
    starter_.started().back()->output.reset();
    AwaitEnd(serving_, name);
    return name;
  }
  Received Read(const std::string& name, uint64_t offset, uint32_t chunk = 0) {
    v1::ReadTraceRequest request;
    request.set_name(name);
    request.set_offset(offset);
    request.set_max_chunk_bytes(chunk);
    return ReadTrace(serving_, request);
  }

  FakeStarter starter_;
  Serving serving_{GetParam(), {}, &starter_};
};
INSTANTIATE_TEST_SUITE_P(, Reading, testing::Values(Way::kInProcess, Way::kUnixSocket, Way::kTls), NameOfWay);

TEST_P(Reading, ResumesAtTheEndOfEveryChunk) {
  const std::string trace = SmallTrace(true, 500);
  const std::string name = CreateEnded(trace);
  const Received whole = Read(name, 0, 4096);
  ASSERT_TRUE(whole.status.ok());
  EXPECT_EQ(whole.trace, trace);
  EXPECT_TRUE(whole.last);
  ASSERT_GT(whole.ends.size(), 3U);
  for (const uint64_t end : whole.ends) {
    const Received rest = Read(name, end, 4096);
    EXPECT_TRUE(rest.status.ok()) << rest.status.error_message();
    EXPECT_EQ(rest.trace, trace.substr(end));
    EXPECT_TRUE(rest.last);
  }
}

TEST_P(Reading, OffsetsInsideAPacketOrBehindTheEndAreRefused) {
  const std::string trace = SmallTrace(true, 5);
  const std::string name = CreateEnded(trace);
  const std::vector<uint64_t> ends = PacketEnds(trace);
  ASSERT_EQ(ends.back(), trace.size());
  const auto is_boundary = [&](uint64_t offset) {
    return offset == 0 || std::find(ends.begin(), ends.end(), offset) != ends.end();
  };
  for (uint64_t offset = 0; offset <= trace.size(); ++offset) {
    const Received received = Read(name, offset);
    EXPECT_EQ(received.status.ok(), is_boundary(offset)) << offset;
  }
  for (const uint64_t offset : {uint64_t{trace.size() + 1}, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
    const Received received = Read(name, offset);
    EXPECT_EQ(received.status.error_code(), grpc::StatusCode::OUT_OF_RANGE) << offset;
    EXPECT_EQ(ReasonOf(received.status), "BAD_OFFSET");
  }
  for (const uint32_t chunk : {1U, 4095U, (1U << 20) + 1, UINT32_MAX}) {
    EXPECT_EQ(ReasonOf(Read(name, 0, chunk).status), "INVALID_REQUEST") << chunk;
  }
}

TEST_P(Reading, FollowsACaptureThatGoesOn) {
  const std::string name = Create();
  const auto collector = starter_.started().back();
  const std::string trace = SmallTrace(true, 20);
  const std::vector<uint64_t> ends = PacketEnds(trace);
  grpc::ClientContext context;
  v1::ReadTraceRequest request;
  request.set_name(name);
  request.set_follow(true);
  const auto stream = serving_.captures().ReadTrace(&context, request);
  v1::TraceChunk chunk;
  uint64_t received = 0;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    const uint64_t begin = i == 0 ? 0 : ends[i - 1];
    // A whole packet and the beginning of the next: only whole ones may come.
    ASSERT_TRUE(WriteAll(collector->output.get(),
                         trace.substr(begin + (i == 0 ? 0 : 1), ends[i] + 1 - begin - (i == 0 ? 0 : 1))));
    while (received < ends[i]) {
      ASSERT_TRUE(stream->Read(&chunk));
      EXPECT_FALSE(chunk.last());
      received += chunk.data().size();
    }
    EXPECT_EQ(received, ends[i]);
  }
  ASSERT_TRUE(WriteAll(collector->output.get(), trace.substr(received + 1)));
  collector->output.reset();
  bool last = false;
  while (stream->Read(&chunk)) {
    received += chunk.data().size();
    last = chunk.last();
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(last);
  EXPECT_EQ(received, trace.size());
}

TEST_P(Reading, WithoutFollowEndsWhereTheTraceEndsNow) {
  const std::string name = Create();
  const Received nothing = Read(name, 0);
  EXPECT_TRUE(nothing.status.ok());
  EXPECT_TRUE(nothing.trace.empty());
  EXPECT_FALSE(nothing.last);
}

TEST_P(Reading, ADamagedTraceIsKeptUpToTheDamage) {
  const std::string trace = SmallTrace(false, 5);
  const std::string name = CreateEnded(trace + std::string(100, '\xff') + SmallTrace());
  const v1::Capture capture = AwaitEnd(serving_, name);
  EXPECT_EQ(capture.state(), v1::STATE_FAILED);
  EXPECT_EQ(capture.error().code(), static_cast<int>(grpc::StatusCode::DATA_LOSS));
  const Received received = Read(name, 0);
  EXPECT_TRUE(received.status.ok());
  EXPECT_EQ(received.trace, trace);
}

TEST_P(Reading, ACollectorThatDiesLeavesWhatItWrote) {
  const std::string name = Create();
  const auto collector = starter_.started().back();
  const std::string trace = SmallTrace(false, 5);
  ASSERT_TRUE(WriteAll(collector->output.get(), trace + trace.substr(0, 7)));
  collector->status = 9;  // killed by signal 9
  collector->output.reset();
  const v1::Capture capture = AwaitEnd(serving_, name);
  EXPECT_EQ(capture.state(), v1::STATE_FAILED);
  EXPECT_EQ(capture.error().code(), static_cast<int>(grpc::StatusCode::INTERNAL));
  EXPECT_NE(capture.error().message().find("signal 9"), std::string::npos);
  EXPECT_EQ(Read(name, 0).trace, trace);
}

// The reader of a Record stops reading. The trace grows on disk, but the memory of this process (both ends of the
// connection, and the collector) does not.
TEST_P(Reading, AStoppedReaderCostsNoMemory) {
  if (kIsSanitized) {
    GTEST_SKIP() << "a sanitizer keeps freed memory back";
  }
  constexpr uint64_t kBytes = uint64_t{96} << 20;
  constexpr size_t kMostKib = 16 * 1024;
  grpc::ClientContext context;
  v1::RecordRequest request;
  *request.mutable_spec() = SpecFor(7);
  const auto stream = serving_.captures().Record(&context, request);
  v1::RecordEvent event;
  ASSERT_TRUE(stream->Read(&event));
  const std::string id = event.capture().name().substr(event.capture().name().rfind('/') + 1);
  const auto collector = starter_.started().back();
  const std::string trace = SmallTrace(false, 2000);
  const auto write = [&](uint64_t least) {
    for (uint64_t written = 0; written < least; written += trace.size()) {
      ASSERT_TRUE(WriteAll(collector->output.get(), trace));
    }
  };
  write(uint64_t{8} << 20);  // fills all buffers
  const size_t before = ResidentKib();
  write(kBytes);
  const auto session = serving_.registry().Find(id, {::getuid(), true});
  ASSERT_TRUE(session.has_value());
  EXPECT_TRUE(Eventually([&] { return session.value()->Snapshot().trace_bytes >= kBytes; }));
  const size_t after = ResidentKib();
  RecordProperty("grown_kib", static_cast<int>(after) - static_cast<int>(before));
  EXPECT_LE(after, before + kMostKib);
  collector->output.reset();
  uint64_t received = 0;
  while (stream->Read(&event)) {
    received += event.chunk().data().size();
  }
  (void)stream->Finish();
  EXPECT_GE(received, kBytes) << "it was all there";
}

}  // namespace
}  // namespace ptrace_prof
