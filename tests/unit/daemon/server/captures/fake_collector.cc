#include "tests/unit/daemon/server/captures/fake_collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "daemon/trace/read/packet_framer.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

class FakeCollector : public Collector {
 public:
  FakeCollector(UniqueFd stream, std::shared_ptr<FakeCollectorState> state, bool deaf)
      : stream_(std::move(stream)), state_(std::move(state)), deaf_(deaf) {}
  ~FakeCollector() override { Stop(); }
  int stream_fd() const override { return stream_.get(); }
  void Stop() override {
    state_->stopped = true;
    if (!deaf_ && state_->output.is_open()) {
      WriteAll(state_->output.get(), SmallTrace());
      state_->output.reset();
    }
  }
  void ShareStops(uint8_t) override {}
  void Kill() override {
    state_->killed = true;
    state_->output.reset();
  }
  std::optional<int> Wait(Nanos) override {
    pollfd end{stream_.get(), POLLIN, 0};
    const bool is_closed = ::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
    return is_closed || state_->ended ? std::optional<int>(state_->status) : std::nullopt;
  }
  std::optional<Error> WhyNotStarted() override { return state_->not_started; }

 private:
  const UniqueFd stream_;
  const std::shared_ptr<FakeCollectorState> state_;
  const bool deaf_;
};

}  // namespace

Result<std::unique_ptr<Collector>> FakeStarter::Start(const CaptureTask& request) {
  while (is_slow) {
    ::poll(nullptr, 0, 1);
  }
  if (refuse) {
    return Error{Code::kResourceExhausted, "the fake was told to refuse", ""};
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoError(errno, "no pipe");
  }
  auto state = std::make_shared<FakeCollectorState>();
  state->request = request;
  state->output.reset(ends[1]);
  if (end_at_once) {
    WriteAll(ends[1], SmallTrace());
    state->output.reset();
  }
  const std::lock_guard lock(mutex_);
  started_.push_back(state);
  return std::unique_ptr<Collector>(std::make_unique<FakeCollector>(UniqueFd(ends[0]), state, deaf));
}

std::vector<std::shared_ptr<FakeCollectorState>> FakeStarter::started() {
  const std::lock_guard lock(mutex_);
  return started_;
}

void FakeStarter::Forget() {
  const std::lock_guard lock(mutex_);
  started_.clear();
}

std::string SmallTrace(bool with_end, uint32_t samples) {
  MemorySink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(Pid(7), &request);
  TraceWriter writer(sink, stacks, request);
  ProcessInfo process;
  process.pid = process.ns_pid = Pid(7);
  process.name = "python3";
  writer.AddProcess(process);
  ThreadInfo info;
  info.pid = Pid(7);
  info.tid = info.ns_tid = Tid(7);
  info.name = "MainThread";
  info.is_main = true;
  const ThreadHandle thread = writer.AddThread(info);
  Accounting totals;
  for (uint32_t i = 0; i < samples; ++i) {
    Frame frame;
    frame.function = fmt::format("function_{}", i % 7);
    frame.file = "/srv/app/module.py";
    frame.line = static_cast<int32_t>(i % 50 + 1);
    const StackId stack = stacks.InternStack(kEmptyStack, stacks.InternFrame(frame));
    writer.AddSample(thread, Nanos(1'000'000'000 + int64_t{i} * 1'000'000), stack, SampleQuality::kSeen);
    (void)writer.Flush().has_error();
    ++totals.samples;
    ++totals.by_quality[0];
  }
  if (with_end) {
    (void)writer.End(Nanos(int64_t{1'000'000'000} + int64_t{samples} * 1'000'000), totals, {}).has_error();
  }
  return sink.bytes();
}

std::vector<uint64_t> PacketEnds(const std::string& trace) {
  std::vector<uint64_t> ends;
  PacketFramer framer;
  for (const char byte : trace) {
    (void)framer.Feed({&byte, 1}, [](std::string_view) { return Result<void>(); }).has_error();
    if (framer.offset() > (ends.empty() ? 0 : ends.back())) {
      ends.push_back(framer.offset());
    }
  }
  return ends;
}

bool WriteAll(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (put <= 0) {
      return false;
    }
    done += static_cast<size_t>(put);
  }
  return true;
}

}  // namespace ptrace_prof
