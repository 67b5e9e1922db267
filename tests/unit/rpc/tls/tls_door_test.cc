#include "rpc/tls/tls_door.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "attach/base/types.h"
#include "rpc/tls/tcp_socket.h"
#include "tests/unit/rpc/made_certificate.h"

namespace ptrace_prof {
namespace {

class TlsDoorTest : public testing::Test {
 protected:
  std::unique_ptr<TlsDoor> Open() {
    return Open([](const Error& why, size_t) { ADD_FAILURE() << why.message; });
  }
  std::unique_ptr<TlsDoor> Open(std::function<void(const Error&, size_t)> on_refused, size_t max_at_once = 200) {
    auto tcp = ListenOnTcp(ParseTcpEndpoint("127.0.0.1:0", "a test").value(), "a test", 8).value();
    address_ = tcp.address;
    auto door = TlsDoor::Start(std::move(tcp.fd), server_,
                               {.identify = [](const PeerCertificate&) -> Result<PeerIdentity> {
                                  return PeerIdentity{.uid = 1, .gid = 1, .groups = {}, .pid = {}};
                                },
                                .on_refused = std::move(on_refused),
                                .max_at_once_of_host = max_at_once});
    return std::move(door).value();
  }

  void TalkGarbage() const {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> way(BIO_new_connect(address_.c_str()), &BIO_free_all);
    EXPECT_EQ(BIO_do_connect(way.get()), 1);
    BIO_write(way.get(), "garbage", 7);
  }

  // Connects, waits for `go` and counts the bytes until the end. A connection that is silent for 20 s counts as ended.
  size_t CountAll(std::future<void> go) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    const TlsFiles files = certificate_.files();
    SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>("\2h2"), 3);
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> way(BIO_new_ssl_connect(context.get()), &BIO_free_all);
    BIO_set_conn_hostname(way.get(), address_.c_str());
    EXPECT_EQ(BIO_do_handshake(way.get()), 1);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(static_cast<int>(BIO_get_fd(way.get(), nullptr)), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    go.wait();
    size_t sum = 0;
    char buffer[65536];
    for (int got = 1; got > 0; sum += static_cast<size_t>(std::max(got, 0))) {
      got = BIO_read(way.get(), buffer, sizeof buffer);
    }
    return sum;
  }

  const MadeCertificate certificate_{"IP:127.0.0.1"};
  const TlsServer server_ = TlsServer::Load(certificate_.files()).value();
  std::string address_;
};

// The door's end may be requested while it still handles the first request.
TEST_F(TlsDoorTest, EndsWhateverItWasReportedJustBefore) {
  for (int turn = 0; turn < 3000; ++turn) {
    auto door = Open();
    door->StopLettingIn();
    const Nanos until = MonotonicNow() + Nanos(turn % 300 * 100);
    while (MonotonicNow() < until) {
    }
    door.reset();
  }
}

TEST_F(TlsDoorTest, CountsWhomItRefusesAlsoWhereItDoesNotReportOfEach) {
  constexpr size_t kBurst = 30;
  std::atomic<size_t> counted = 0;
  const auto door = Open([&](const Error&, size_t times) { counted += times; });
  size_t made = 0;
  for (; made < kBurst; ++made) {
    TalkGarbage();
  }
  for (const Nanos until = MonotonicNow() + Nanos::FromSeconds(60); counted != made && MonotonicNow() < until;) {
    TalkGarbage();  // reports earlier refusals too
    ++made;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_EQ(counted, made);
}

TEST_F(TlsDoorTest, DoesNotListenToAHostThatConnectsTooOften) {
  std::mutex mutex;
  std::string said;
  size_t counted = 0;
  const auto door = Open(
      [&](const Error& why, size_t times) {
        const std::lock_guard lock(mutex);
        said += why.message + "\n";
        counted += why.reason == Reason::kQuota ? times : 0;
      },
      2);
  for (int i = 0; i < 50; ++i) {
    TalkGarbage();
  }
  for (const Nanos until = MonotonicNow() + Nanos::FromSeconds(60); MonotonicNow() < until;) {
    if (const std::lock_guard lock(mutex); counted > 0) {
      break;
    }
    TalkGarbage();
  }
  const std::lock_guard lock(mutex);
  EXPECT_NE(said.find("this host connects too often"), std::string::npos) << said;
}

// The server's output is more than one write can send.
TEST_F(TlsDoorTest, CarriesAllThatAServerSaidBeforeItWentAway) {
  const auto door = Open();
  std::promise<void> gone;
  auto counted = std::async(std::launch::async, [&] { return CountAll(gone.get_future()); });
  pollfd arrives{door->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&arrives, 1, 20'000), 1);
  auto arrival = door->Take();
  ASSERT_TRUE(arrival.has_value());
  const int room = 8 << 20;
  if (::setsockopt(arrival->connection.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) {  // not root
    ::setsockopt(arrival->connection.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  }
  const std::string words(4 << 20, 'x');
  size_t said = 0;
  for (ssize_t some = 1; some > 0 && said < words.size(); said += static_cast<size_t>(std::max<ssize_t>(some, 0))) {
    some = ::send(arrival->connection.get(), words.data() + said, words.size() - said, MSG_NOSIGNAL);
  }
  arrival.reset();
  gone.set_value();
  EXPECT_GT(said, size_t{1} << 17);
  EXPECT_EQ(counted.get(), said);
}

}  // namespace
}  // namespace ptrace_prof
