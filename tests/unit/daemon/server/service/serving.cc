#include "tests/unit/daemon/server/service/serving.h"

#include <dirent.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/channel.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "daemon/trace/read/trace_reader.h"
#include "rpc/channel.h"
#include "rpc/connection/crc32c.h"
#include "rpc/tls/tcp_socket.h"
#include "rpc/tls/tls_door.h"
#include "rpc/unix/unix_socket.h"
#include "tests/unit/rpc/made_certificates.h"

namespace ptrace_prof {
namespace {

PeerIdentity Self() { return {.uid = ::getuid(), .gid = ::getgid(), .groups = {}, .pid = Pid(::getpid())}; }

class PeerServices : public ConnectionServices {
 public:
  PeerServices(const PeerIdentity& peer, CaptureRegistry& captures, CallResources& resources,
               const CallerAccess& access)
      : profiler_(peer, captures, resources, access) {}
  std::vector<grpc::Service*> services() override { return profiler_.services(); }

 private:
  ProfilerService profiler_;
};

class Contents : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos, StackId, SampleQuality) override { ++samples; }
  void OnEnd(const EndInfo&) override { has_end = true; }
  uint64_t samples = 0;
  bool has_end = false;
};

// Puts chunks together, and checks each.
class Assembly {
 public:
  explicit Assembly(uint64_t offset) : next_(offset), from_start_(offset == 0), reader_(contents_) {}

  void Add(const v1::TraceChunk& chunk, Received& out) {
    EXPECT_EQ(chunk.offset(), next_);
    EXPECT_EQ(chunk.crc32c(), Crc32c(chunk.data()));
    EXPECT_FALSE(out.last) << "a chunk after the last one";
    if (from_start_) {
      const auto fed = reader_.Feed(std::as_bytes(std::span(chunk.data())));
      EXPECT_TRUE(fed.has_value()) << fed.error().message;
      EXPECT_FALSE(reader_.mid_packet()) << "the chunk ends inside a packet";
    }
    next_ += chunk.data().size();
    out.trace += chunk.data();
    out.ends.push_back(next_);
    out.last = chunk.last();
    out.samples = contents_.samples;
    out.has_end = contents_.has_end;
  }

 private:
  uint64_t next_;
  const bool from_start_;
  Contents contents_;
  TraceReader reader_;
};

}  // namespace

Serving::Serving(Way way, CaptureLimits limits, CollectorStarter* starter)
    : access_{starter == nullptr ? local_ : *starter, allowance_, audit_},
      registry_(std::make_unique<CaptureRegistry>(folder_.path(), limits)) {
  const auto channel = Serve(way);
  captures_ = v1::CaptureService::NewStub(channel);
  node_ = v1::NodeService::NewStub(channel);
}

std::shared_ptr<grpc::Channel> Serving::Serve(Way way) {
  switch (way) {
    case Way::kInProcess: return ServeInProcess();
    case Way::kUnixSocket: return ServeOnUnixSocket();
    case Way::kTls: return ServeOverTls();
  }
  return nullptr;
}

std::shared_ptr<grpc::Channel> Serving::ServeInProcess() {
  service_ = std::make_unique<ProfilerService>(Self(), *registry_, resources_, access_);
  in_process_ = std::make_unique<InProcessServer>(service_->services());
  return in_process_->Connect();
}

std::shared_ptr<grpc::Channel> Serving::ServeOnUnixSocket() {
  const std::string path = folder_.path() + "/s.sock";
  auto socket = ListenOnUnixSocket(path);
  auto listener = UnixListener::Start(std::move(socket).value(), {.admit = AdmitOnly({Uid(::getuid())})},
                                      [this](const PeerIdentity& peer) {
                                        return std::make_unique<PeerServices>(peer, *registry_, resources_, access_);
                                      });
  listener_ = std::move(listener).value();
  return ConnectChannel("unix:" + path).value();
}

std::shared_ptr<grpc::Channel> Serving::ServeOverTls() {
  const MadeCertificates made = MakeCertificates(folder_.path());
  auto tcp = ListenOnTcp(ParseTcpEndpoint("127.0.0.1:0", "a test").value(), "a test", 8).value();
  auto door = TlsDoor::Start(std::move(tcp.fd), TlsServer::Load(made.server).value(),
                             {.identify = [](const PeerCertificate&) -> Result<PeerIdentity> { return Self(); },
                              .on_refused = [](const Error& why, size_t) { ADD_FAILURE() << why.message; }});
  auto listener =
      UnixListener::Start(UniqueFd(), {.admit = AdmitOnly({Uid(::getuid())}), .doorkeeper = std::move(door).value()},
                          [this](const PeerIdentity& peer) {
                            return std::make_unique<PeerServices>(peer, *registry_, resources_, access_);
                          });
  listener_ = std::move(listener).value();
  ChannelOptions options;
  options.tls = made.client;
  return ConnectChannel("tls://" + tcp.address, options).value();
}

void Serving::HangUp() {
  captures_.reset();
  node_.reset();
}

Serving::~Serving() {
  registry_->CancelAll();
  HangUp();
  in_process_.reset();
  if (listener_ != nullptr) {
    listener_->Shutdown(Nanos::FromSeconds(5));
  }
}

std::string NameOfWay(const testing::TestParamInfo<Way>& way) {
  constexpr const char* kNames[] = {"InProcess", "UnixSocket", "Tls"};
  return kNames[static_cast<size_t>(way.param)];
}

std::unique_ptr<TestTarget> Python(const std::string& script) {
  for (const Interpreter& one : Interpreters()) {
    if (one.root.empty()) {
      auto target = std::make_unique<TestTarget>(one.Command({"-c", script}));
      EXPECT_TRUE(target->ready()) << one.path << ": " << target->line();
      return target;
    }
  }
  ADD_FAILURE() << "no CPython to be profiled; ./dev setup test installs some";
  return nullptr;
}

std::unique_ptr<TestTarget> Spinning() {
  return Python(
      "def inner():\n"
      "  for number in range(1000): number * number\n"
      "def outer():\n"
      "  while True: inner()\n"
      "print('ready', flush=True)\n"
      "outer()\n");
}

v1::CaptureSpec SpecFor(pid_t pid, double seconds, double rate_hz) {
  v1::CaptureSpec spec;
  spec.mutable_target()->set_pid(pid);
  spec.mutable_sample()->set_rate_hz(rate_hz);
  spec.mutable_sample()->set_no_overhead_limit(true);
  *spec.mutable_duration() =
      google::protobuf::util::TimeUtil::MillisecondsToDuration(static_cast<int64_t>(seconds * 1000));
  return spec;
}

Received Record(Serving& serving, grpc::ClientContext& context, const v1::RecordRequest& request,
                const OnEvent& on_event) {
  Received received;
  Assembly assembly(0);
  const auto stream = serving.captures().Record(&context, request);
  v1::RecordEvent event;
  while (stream->Read(&event)) {
    if (event.has_capture()) {
      received.captures.push_back(event.capture());
    } else {
      assembly.Add(event.chunk(), received);
    }
    if (on_event) {
      on_event(event);
    }
  }
  received.status = stream->Finish();
  return received;
}

Received ReadTrace(Serving& serving, const v1::ReadTraceRequest& request) {
  Received received;
  Assembly assembly(request.offset());
  grpc::ClientContext context;
  const auto stream = serving.captures().ReadTrace(&context, request);
  v1::TraceChunk chunk;
  while (stream->Read(&chunk)) {
    assembly.Add(chunk, received);
  }
  received.status = stream->Finish();
  return received;
}

v1::Capture AwaitEnd(Serving& serving, const std::string& name) {
  grpc::ClientContext context;
  v1::WatchCaptureRequest request;
  request.set_name(name);
  const auto stream = serving.captures().WatchCapture(&context, request);
  v1::CaptureEvent event;
  while (stream->Read(&event)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_GE(event.capture().state(), v1::STATE_SUCCEEDED);
  return event.capture();
}

namespace {

std::vector<std::string> TasksOf(pid_t pid) {
  std::vector<std::string> found;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  if (DIR* folder = ::opendir(path.c_str())) {
    while (const dirent* entry = ::readdir(folder)) {
      if (entry->d_name[0] != '.') {
        found.push_back(path + "/" + entry->d_name);
      }
    }
    ::closedir(folder);
  }
  return found;
}

}  // namespace

std::vector<pid_t> Collectors(const std::vector<pid_t>& targets) {
  std::vector<pid_t> found;
  for (const std::string& task : TasksOf(::getpid())) {
    std::ifstream children(task + "/children");
    for (pid_t child = 0; children >> child;) {
      if (std::find(targets.begin(), targets.end(), child) == targets.end()) {
        found.push_back(child);
      }
    }
  }
  return found;
}

size_t CountCollectors(const std::vector<pid_t>& targets) { return Collectors(targets).size(); }

std::string HarmOf(pid_t pid) {
  std::string harm;
  const auto tasks = TasksOf(pid);
  for (const std::string& task : tasks) {
    std::ifstream status(task + "/status");
    for (std::string line; std::getline(status, line);) {
      const bool stopped = line.starts_with("State:\tt") || line.starts_with("State:\tT");
      const bool traced = line.starts_with("TracerPid:") && line != "TracerPid:\t0";
      harm += stopped || traced ? line + "\n" : "";
    }
  }
  return tasks.empty() ? "it is gone" : harm;
}

size_t ResidentKib() {
  std::ifstream file("/proc/self/statm");
  size_t whole = 0;
  size_t resident = 0;
  file >> whole >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace ptrace_prof
