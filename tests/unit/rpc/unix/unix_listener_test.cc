// The listener with a service of the test's own behind it, and gRPC clients in front.

#include "rpc/unix/unix_listener.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "attach/base/sanitizers.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/connection/status.h"
#include "rpc/unix/unix_socket.h"
#include "tests/unit/count_descriptors.h"
#include "tests/unit/eventually.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

using ptraceprof::v1::CaptureEvent;
using ptraceprof::v1::CaptureService;
using ptraceprof::v1::GetNodeRequest;
using ptraceprof::v1::Node;
using ptraceprof::v1::NodeService;

std::atomic<int> g_alive = 0;

// Answers with the identity of the caller.
class Introduction : public NodeService::CallbackService {
 public:
  explicit Introduction(PeerIdentity peer) : peer_(std::move(peer)) {}
  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context, const GetNodeRequest*, Node* node) override {
    node->set_name(std::to_string(peer_.uid) + "/" + std::to_string(peer_.pid.value));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const PeerIdentity peer_;
};

// Writes one event and then goes on until it is cancelled.
class Endless : public CaptureService::CallbackService {
  class Stream : public grpc::ServerWriteReactor<CaptureEvent> {
   public:
    Stream() { StartWrite(&event_); }
    void OnWriteDone(bool) override {}
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    CaptureEvent event_;
  };
  grpc::ServerWriteReactor<CaptureEvent>* WatchCapture(grpc::CallbackServerContext*,
                                                       const ptraceprof::v1::WatchCaptureRequest*) override {
    return new Stream;
  }
};

class TestServices : public ConnectionServices {
 public:
  explicit TestServices(const PeerIdentity& peer) : introduction_(peer) { ++g_alive; }
  ~TestServices() override { --g_alive; }
  std::vector<grpc::Service*> services() override { return {&introduction_, &endless_}; }

 private:
  Introduction introduction_;
  Endless endless_;
};

size_t ResidentKib() {
  std::ifstream file("/proc/self/statm");
  size_t whole = 0;
  size_t resident = 0;
  file >> whole >> resident;
  return resident * 4;
}

bool IsClosed(const UniqueFd& connection) {
  char said[256];
  ssize_t got = 0;
  while ((got = ::recv(connection.get(), said, sizeof said, MSG_DONTWAIT)) > 0) {
  }
  return got == 0 || (errno != EAGAIN && errno != EINTR);
}

class Listening : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_), nullptr);
    path_ = std::string(folder_) + "/s.sock";
    Listen({Uid(::getuid())});
  }
  void TearDown() override {
    listener_.reset();
    EXPECT_EQ(g_alive, 0);
    std::filesystem::remove_all(folder_);
  }

  void Listen(std::vector<Uid> admitted) {
    listener_.reset();
    auto socket = ListenOnUnixSocket(path_);
    ASSERT_TRUE(socket.has_value()) << socket.error().message;
    ServeAt(std::move(socket).value(), std::move(admitted));
  }

  void ServeAt(UniqueFd socket, std::vector<Uid> admitted) {
    refusals_ = 0;
    auto listener = UnixListener::Start(std::move(socket),
                                        {.admit = AdmitOnly(std::move(admitted)),
                                         .on_refused = [this](const PeerIdentity&, const Error&) { ++refusals_; }},
                                        [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
    ASSERT_TRUE(listener.has_value());
    listener_ = std::move(listener).value();
  }

  std::shared_ptr<grpc::Channel> Connect() {
    auto channel = ConnectChannel("unix:" + path_);
    EXPECT_TRUE(channel.has_value()) << channel.error().message;
    return channel.has_value() ? std::move(channel).value() : nullptr;
  }

  static grpc::Status Ask(const std::shared_ptr<grpc::Channel>& channel, Node* node,
                          const GetNodeRequest& request = {}) {
    grpc::ClientContext context;
    context.AddMetadata("ptp-uid", "0");  // the server must ignore what a client claims
    return NodeService::NewStub(channel)->GetNode(&context, request, node);
  }

  char folder_[32] = "/tmp/pp-listen-XXXXXX";
  std::string path_;
  std::atomic<int> refusals_ = 0;
  std::unique_ptr<UnixListener> listener_;
};

TEST_F(Listening, KnowsWhoCalls) {
  Node node;
  ASSERT_TRUE(Ask(Connect(), &node).ok());
  EXPECT_EQ(node.name(), std::to_string(::getuid()) + "/" + std::to_string(::getpid()));
}

TEST_F(Listening, ForgetsAConnectionThatEnds) {
  auto channel = Connect();
  EXPECT_EQ(g_alive, 1);
  channel.reset();
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
  EXPECT_EQ(g_alive, 0);
}

// Otherwise the next client may have to wait some seconds until the library has shut down.
TEST_F(Listening, TheLibraryIsThereWhileNobodyIsConnected) {
  Connect().reset();
  ASSERT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
  EXPECT_NE(::grpc_is_initialized(), 0);
}

TEST_F(Listening, ForgetsAConnectionThatNeverSaysAnything) {
  for (int i = 0; i < 20; ++i) {
    const auto silent = ConnectToUnixSocket(path_);
    ASSERT_TRUE(silent.has_value());
    ASSERT_TRUE(Eventually([&] { return g_alive == 1; }));
    if (i % 2 == 0) {
      EXPECT_EQ(::send(silent.value().get(), "nonsense\r\n\r\n", 12, 0), 12);
    }
    ::shutdown(silent.value().get(), SHUT_RDWR);
    ASSERT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
  }
}

TEST_F(Listening, KeepsNothingOfAThousandConnections) {
  if (kIsSanitized) {
    GTEST_SKIP() << "a sanitizer keeps freed memory back";
  }
  Node node;
  const auto connect_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto channel = Connect();
      ASSERT_TRUE(Ask(channel, &node).ok());
    }
    ASSERT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
  };
  connect_some(200);
  const size_t descriptors = CountDescriptors();
  const size_t resident = ResidentKib();
  connect_some(1000);
  EXPECT_TRUE(Eventually([&] { return CountDescriptors() <= descriptors; }))
      << CountDescriptors() << " " << descriptors;
  EXPECT_LE(ResidentKib(), resident + 8 * 1024);
  RecordProperty("grown_kib", static_cast<int>(ResidentKib()) - static_cast<int>(resident));
}

TEST_F(Listening, AConnectionCostsNoThread) {
  const auto count_threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::vector<UniqueFd> connections;
  const auto connect_some = [&](size_t count) {
    while (connections.size() < count) {
      connections.push_back(ConnectToUnixSocket(path_).value());
    }
    ASSERT_TRUE(Eventually([&] { return g_alive == static_cast<int>(count); }));
  };
  connect_some(1);
  const auto before = count_threads();
  connect_some(100);
  EXPECT_LE(count_threads(), before + 50);  // gRPC's own threads come and go, at most 32
}

TEST_F(Listening, CancelsWhatGoesOnWhenItShutsDown) {
  auto channel = Connect();
  grpc::ClientContext context;
  auto stream = CaptureService::NewStub(channel)->WatchCapture(&context, {});
  CaptureEvent event;
  ASSERT_TRUE(stream->Read(&event));
  listener_->Shutdown(Nanos::FromMillis(20));
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(g_alive, 0);
  Node node;
  EXPECT_FALSE(Ask(channel, &node).ok());
}

TEST_F(Listening, ReportsItsHealthAndItsServices) {
  auto channel = Connect();
  const auto call = [&](const char* method, std::string_view message) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto stream = stub.PrepareCall(&context, method, &queue);
    void* tag = nullptr;
    bool ok = false;
    const auto step = [&] { return queue.Next(&tag, &ok) && ok; };
    stream->StartCall(nullptr);
    EXPECT_TRUE(step());
    const grpc::Slice slice(message.data(), message.size());
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    EXPECT_TRUE(step());
    grpc::ByteBuffer answer;
    stream->Read(&answer, nullptr);
    EXPECT_TRUE(step());
    grpc::Status status;
    stream->Finish(&status, nullptr);
    EXPECT_TRUE(step());
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice whole;
    EXPECT_TRUE(answer.DumpToSingleSlice(&whole).ok());
    return std::string(reinterpret_cast<const char*>(whole.begin()), whole.size());
  };
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", ""), "\x08\x01") << "SERVING";
  const auto ask = [&](std::string_view question) {
    return call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", question);
  };
  const std::string services = ask({"\x3a\0", 2});  // list_services = ""
  EXPECT_NE(services.find("ptraceprof.v1.NodeService"), std::string::npos);
  EXPECT_NE(services.find("ptraceprof.v1.CaptureService"), std::string::npos);
  const std::string file = ask("\x22\x19ptraceprof.v1.NodeService");  // file_containing_symbol = …
  EXPECT_NE(file.find("google/protobuf/timestamp.proto"), std::string::npos) << "with what it imports";
  EXPECT_NE(ask("\x22\x02no").find("no such file or symbol"), std::string::npos);
  EXPECT_NE(ask("").find("this server answers"), std::string::npos);
}

TEST_F(Listening, AClientThatGoesEndsItsCalls) {
  {
    auto channel = Connect();
    grpc::ClientContext context;
    auto stream = CaptureService::NewStub(channel)->WatchCapture(&context, {});
    CaptureEvent event;
    ASSERT_TRUE(stream->Read(&event));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
}

TEST_F(Listening, RefusesMessagesBeyondItsLimit) {
  GetNodeRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1000, std::string(5 << 20, 'x'));
  Node node;
  EXPECT_EQ(Ask(Connect(), &node, request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Ask(Connect(), &node).ok());
}

TEST_F(Listening, ReportsAnybodyElseWhyNot) {
  Listen({Uid(::getuid() + 1)});
  Node node;
  const grpc::Status status = Ask(Connect(), &node);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "PERMISSION_DENIED");
  EXPECT_FALSE(FromStatus(status).remedy.empty());
  EXPECT_TRUE(Eventually([&] { return refusals_ >= 1; }));
  EXPECT_EQ(g_alive, 0);
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
}

TEST_F(Listening, WhoIsRefusedHoldsNoPlaceForLong) {
  listener_.reset();
  auto listener = UnixListener::Start(ListenOnUnixSocket(path_).value(),
                                      {.admit = AdmitOnly({Uid(::getuid() + 1)}),
                                       .on_refused = [this](const PeerIdentity&, const Error&) { ++refusals_; },
                                       .refusal_time = Nanos::FromMillis(50)},
                                      [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
  listener_ = std::move(listener).value();
  const auto channel = Connect();  // connects again and again, and asks
  Node node;
  EXPECT_TRUE(Eventually([&] {
    EXPECT_FALSE(Ask(channel, &node).ok());
    return refusals_ >= 3;
  }));
}

TEST_F(Listening, TheOldestOfTheRefusedGivesWay) {
  listener_.reset();
  auto listener = UnixListener::Start(ListenOnUnixSocket(path_).value(),
                                      {.admit = AdmitOnly({Uid(::getuid() + 1)}),
                                       .on_refused = [](const PeerIdentity&, const Error&) {},
                                       .refusal_time = Nanos::FromSeconds(1000),
                                       .max_refused = 2},
                                      [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
  listener_ = std::move(listener).value();
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 3; ++i) {
    auto client = ConnectToUnixSocket(path_);
    ASSERT_TRUE(client.has_value());
    clients.push_back(std::move(client).value());
  }
  EXPECT_TRUE(Eventually([&] { return IsClosed(clients[0]); }));
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 2; }));
  EXPECT_FALSE(IsClosed(clients[1]) || IsClosed(clients[2]));
}

TEST_F(Listening, AnotherUserIsRefusedEvenWhereTheFileLetsThemIn) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can become somebody else";
  }
  ASSERT_EQ(::chmod(folder_, 0755), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  EXPECT_EQ(InChild([&] {
              if (::setgid(1234) != 0 || ::setuid(1234) != 0) {
                return 2;
              }
              const auto connection = ConnectToUnixSocket(path_);
              char byte = 0;  // it learns that there is a server, and nothing more unless it calls something
              return connection.has_value() && ::recv(connection.value().get(), &byte, 1, 0) == 1 ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(Eventually([&] { return refusals_ == 1; }));
  EXPECT_EQ(g_alive, 0);
}

// Lets in two connections in a row, and then no more.
class TwoGuests : public Doorkeeper {
 public:
  TwoGuests() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_.reset(ends[0]);
    EXPECT_EQ(::write(ends[1], "ab", 2), 2);
    ::close(ends[1]);
  }
  int fd() const override { return read_.get(); }
  std::optional<Arrival> Take() override {
    char which = 0;
    if (::read(read_.get(), &which, 1) != 1) {
      left_ = true;
      return std::nullopt;
    }
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    (which == 'a' ? first : second).reset(ends[1]);
    Result<void> verdict;
    if (which == 'b') {
      verdict = Error{Code::kUnauthenticated, "nobody knows who that is", ""};
    }
    return Arrival{UniqueFd(ends[0]), {.uid = 7, .number = 1}, std::move(verdict)};
  }
  bool has_left() const override { return left_; }
  void StopLettingIn() override {}
  UniqueFd first, second;

 private:
  UniqueFd read_;
  bool left_ = false;
};

TEST_F(Listening, ADoorkeeperAcceptsAndIsReplacedWhenItLeaves) {
  listener_.reset();
  refusals_ = 0;
  auto owned = std::make_unique<TwoGuests>();
  auto* const guests = owned.get();
  auto listener = UnixListener::Start(ListenOnUnixSocket(path_).value(),
                                      {.admit = AdmitOnly({Uid(7), Uid(::getuid())}),
                                       .on_refused = [this](const PeerIdentity&, const Error&) { ++refusals_; },
                                       .doorkeeper = std::move(owned)},
                                      [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
  listener_ = std::move(listener).value();
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 2; }));
  EXPECT_EQ(g_alive, 1);
  EXPECT_EQ(refusals_, 1);
  Node node;
  EXPECT_TRUE(Ask(Connect(), &node).ok()) << "the listener accepts by itself now";
  guests->first.reset();
  guests->second.reset();
  EXPECT_TRUE(Eventually([&] { return listener_->connections() == 0; }));
}

// Lets in one connection after the other. The test chooses the identity of each.
class Guests : public Doorkeeper {
 public:
  Guests() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_.reset(ends[0]);
    knock_.reset(ends[1]);
  }
  UniqueFd Come(bool is_administrator) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    EXPECT_EQ(::write(knock_.get(), is_administrator ? "r" : "u", 1), 1);
    return UniqueFd(ends_[1]);
  }
  int fd() const override { return read_.get(); }
  std::optional<Arrival> Take() override {
    char who = 0;
    EXPECT_EQ(::read(read_.get(), &who, 1), 1);
    return Arrival{UniqueFd(ends_[0]), {.uid = who == 'r' ? 0U : 7U, .number = 1, .is_administrator = who == 'r'}, {}};
  }
  bool has_left() const override { return false; }
  void StopLettingIn() override {}

 private:
  UniqueFd read_, knock_;
  int ends_[2] = {-1, -1};  // of the last connection; written before it knocks
};

TEST_F(Listening, AllOthersTogetherDoNotKeepTheAdministratorOut) {
  listener_.reset();
  refusals_ = 0;
  auto owned = std::make_unique<Guests>();
  auto* const guests = owned.get();
  auto listener = UnixListener::Start(ListenOnUnixSocket(path_).value(),
                                      {.admit = [](const PeerIdentity&) -> Result<void> { return {}; },
                                       .max_connections = 4,
                                       .reserved = 2,
                                       .on_refused = [this](const PeerIdentity&, const Error&) { ++refusals_; },
                                       .doorkeeper = std::move(owned)},
                                      [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
  listener_ = std::move(listener).value();
  std::vector<UniqueFd> connected;
  const auto come = [&](bool is_administrator, size_t connections, int refusals) {
    connected.push_back(guests->Come(is_administrator));
    return Eventually([&] { return listener_->connections() == connections && refusals_ == refusals; });
  };
  EXPECT_TRUE(come(false, 1, 0));
  EXPECT_TRUE(come(false, 2, 0));
  EXPECT_TRUE(come(false, 2, 1));
  EXPECT_TRUE(Eventually([&] { return IsClosed(connected.back()); }));
  EXPECT_TRUE(come(true, 3, 1));
  EXPECT_TRUE(come(true, 4, 1));
  EXPECT_TRUE(come(true, 4, 2)) << "there is an end to their places too";
}

TEST_F(Listening, NobodyKeepsAllOthersOut) {
  listener_.reset();
  refusals_ = 0;
  auto listener = UnixListener::Start(ListenOnUnixSocket(path_).value(),
                                      {.admit = AdmitOnly({Uid(::getuid())}),
                                       .max_per_user = 1,
                                       .on_refused = [this](const PeerIdentity&, const Error&) { ++refusals_; }},
                                      [](const PeerIdentity& peer) { return std::make_unique<TestServices>(peer); });
  listener_ = std::move(listener).value();
  const auto first = Connect();
  Node node;
  EXPECT_TRUE(Ask(first, &node).ok());
  const grpc::Status status = Ask(Connect(), &node);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "QUOTA");
}

TEST_F(Listening, WhoFindsTheQueueFullWaitsInIt) {
  listener_.reset();
  UniqueFd socket = ListenOnUnixSocket(path_).value();
  ASSERT_EQ(::listen(socket.get(), 1), 0);  // again, and shorter
  std::vector<UniqueFd> before_us;
  while (KnockAtUnixSocket(path_).value() != EAGAIN) {
    before_us.push_back(ConnectToUnixSocket(path_).value());
    ASSERT_LT(before_us.size(), 10U);
  }
  auto connecting = std::async(std::launch::async, [&] { return ConnectChannel("unix:" + path_); });
  ASSERT_EQ(connecting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << "it waits";
  ServeAt(std::move(socket), {Uid(::getuid())});
  auto channel = connecting.get();
  ASSERT_TRUE(channel.has_value()) << channel.error().message;
  Node node;
  EXPECT_TRUE(Ask(channel.value(), &node).ok());
}

TEST(Channel, SaysWhyItCannotConnect) {
  const auto code_of = [](const std::string& address) {
    const auto channel = ConnectChannel(address, {.patience = Nanos::FromSeconds(20)});
    EXPECT_TRUE(channel.has_error());
    EXPECT_NE(channel.error().message.find(address.substr(address.find(':') + 1)), std::string::npos)
        << channel.error().message;
    EXPECT_FALSE(channel.error().remedy.empty());
    return channel.error().code;
  };
  EXPECT_EQ(code_of("unix:/tmp/no/such/socket"), Code::kNotFound);
  EXPECT_EQ(code_of("127.0.0.1:1"), Code::kUnavailable);
  EXPECT_EQ(code_of("localhost"), Code::kInvalidArgument);
  EXPECT_EQ(code_of("host:port"), Code::kInvalidArgument);
}

TEST(Channel, DoesNotWaitForeverForWhoDoesNotAnswer) {
  char folder[32] = "/tmp/pp-silent-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s.sock";
  const auto silent = ListenOnUnixSocket(path);
  ASSERT_TRUE(silent.has_value());
  const auto channel = ConnectChannel("unix:" + path, {.patience = Nanos::FromMillis(50)});
  ASSERT_TRUE(channel.has_error());
  EXPECT_EQ(channel.error().code, Code::kUnavailable);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ptrace_prof
