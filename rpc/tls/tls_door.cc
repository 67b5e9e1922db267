#include "rpc/tls/tls_door.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "attach/base/started_thread.h"
#include "rpc/connection/descriptor_pause.h"
#include "rpc/tls/tcp_socket.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kListen = 0;
constexpr uint64_t kWake = 1;
constexpr int kAcceptedAtOnce = 8;  // a handshake takes about a millisecond, and other connections wait
constexpr Nanos kLingerPatience = Nanos::FromSeconds(2);
constexpr Nanos kRestPatience = Nanos::FromSeconds(30);  // for a client that does not read the server's last bytes
constexpr Nanos kLastWords = Nanos::FromSeconds(1);
constexpr uint32_t kNobody = 0xffffffff;  // not the number of any user
constexpr size_t kMostHosts = 4096;

// The network socket of connection n has event 2n, its local socket 2n + 1.
uint64_t EventOf(uint64_t id, bool is_local) { return id * 2 + (is_local ? 1 : 0); }

// Detects a peer machine that has vanished, even on an idle connection.
void KeepAlive(int connection) {
  const std::pair<int, int> settings[] = {{TCP_KEEPIDLE, 30}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}, {TCP_NODELAY, 1}};
  const int on = 1;
  ::setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  for (const auto& [name, value] : settings) {
    ::setsockopt(connection, IPPROTO_TCP, name, &value, sizeof value);
  }
}

bool SetWatch(int epoll, int operation, int fd, uint32_t events, uint64_t data) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<TlsDoor>> TlsDoor::Start(UniqueFd listening, TlsServer server, TlsDoorOptions options) {
  std::unique_ptr<TlsDoor> door(new TlsDoor(std::move(listening), std::move(server), std::move(options)));
  if (!door->epoll_.is_open() || !door->wake_.is_open() || !door->arrived_.is_open() ||
      !SetWatch(door->epoll_.get(), EPOLL_CTL_ADD, door->listening_.get(), EPOLLIN, kListen) ||
      !SetWatch(door->epoll_.get(), EPOLL_CTL_ADD, door->wake_.get(), EPOLLIN, kWake)) {
    return ErrnoError(errno, "cannot watch the TCP socket");
  }
  PP_ASSIGN_OR_RETURN(door->thread_, StartThread([raw = door.get()] { raw->Run(); }));
  return door;
}

TlsDoor::TlsDoor(UniqueFd listening, TlsServer server, TlsDoorOptions options)
    : listening_(std::move(listening)),
      server_(std::move(server)),
      options_(std::move(options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      arrived_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)),
      rate_(options_.pause_of_host, options_.max_at_once_of_host, kMostHosts) {}

void TlsDoor::Report(Wish wish) {
  wish_ = wish;
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

TlsDoor::~TlsDoor() {
  Report(Wish::kEnd);
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<Arrival> TlsDoor::Take() {
  uint64_t one = 0;
  (void)!::read(arrived_.get(), &one, sizeof one);
  const std::lock_guard lock(mutex_);
  if (arrivals_.empty()) {
    return std::nullopt;
  }
  Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  return arrival;
}

void TlsDoor::Run() {
  sigset_t pipe;  // blocked: OpenSSL writes to connections that may be closed
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  do {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, NextTimeout());
    for (int i = 0; i < count; ++i) {
      const uint64_t data = events[i].data.u64;
      if (data == kListen) {
        AcceptSome();
      } else if (data == kWake) {
        uint64_t reported = 0;  // read before wish_, so that a later Tell wakes the thread again
        (void)!::read(wake_.get(), &reported, sizeof reported);
      } else {
        Serve(data / 2, data % 2 == 1, events[i].events);
      }
    }
    RefuseLate();
  } while (Obey());
}

bool TlsDoor::Obey() {
  const Wish wish = wish_;
  if (wish == Wish::kNone) {
    return true;
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listening_.get(), nullptr);
  if (wish == Wish::kStopAccepting) {
    return true;
  }
  end_ = end_.value == 0 ? MonotonicNow() + kLastWords : end_;
  return MonotonicNow() < end_ && std::ranges::any_of(entries_, [](const auto& one) {
           return one.second.connection->state() == TlsConnection::State::kServing;
         });
}

int TlsDoor::NextTimeout() const {
  if (deadlines_.empty() && end_.value == 0) {
    return -1;
  }
  const Nanos next = end_.value != 0 ? end_ : deadlines_.begin()->first;
  const Nanos left = next - MonotonicNow();
  return static_cast<int>(std::clamp<int64_t>(left.value / 1'000'000 + 1, 0, 60'000));
}

void TlsDoor::AcceptSome() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    UniqueFd network(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!network.is_open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        ::usleep(kNoDescriptorPauseMs * 1000);  // waiting connections are still there then
      }
      return;
    }
    TcpPeer peer = PeerOf(network.get());
    if (!rate_.Admit(peer.host, MonotonicNow())) {
      ReportRefused(Because(Reason::kQuota, fmt::format("{}: this host connects too often", peer.address),
                            fmt::format("connect less often: {:g} times a second and {} times at once are allowed",
                                        1 / options_.pause_of_host.seconds(), options_.max_at_once_of_host)));
      continue;
    }
    KeepAlive(network.get());
    MakeRoom(peer.host);
    const uint64_t id = ++next_id_;
    Entry& entry = entries_[id];
    entry.connection = std::make_unique<TlsConnection>(std::move(network), server_, std::move(peer.address));
    entry.host = std::move(peer.host);
    ++handshakes_[entry.host];
    ++shaking_;
    SetDeadline(id, entry, MonotonicNow() + options_.handshake_patience);
    SetWatch(epoll_.get(), EPOLL_CTL_ADD, entry.connection->network(), EPOLLIN, EventOf(id, false));
    entry.network_events = EPOLLIN;
  }
}

// Makes room for one more handshake with that host.
void TlsDoor::MakeRoom(const std::string& host) {
  const bool host_is_full = handshakes_[host] >= options_.max_handshakes_of_host;
  if (!host_is_full && shaking_ < options_.max_handshakes) {
    return;
  }
  const auto oldest = std::ranges::find_if(entries_, [&](const auto& one) {
    return one.second.reported == TlsConnection::State::kHandshake && (!host_is_full || one.second.host == host);
  });
  if (oldest != entries_.end()) {
    oldest->second.connection->Refuse(
        {Code::kResourceExhausted,
         fmt::format("{}: closed during the TLS handshake, as too many newer connections wait",
                     oldest->second.connection->address()),
         "connect less often"});
    oldest->second.connection->Lose();
    Settle(oldest);
  }
}

void TlsDoor::Serve(uint64_t id, bool is_local, uint32_t events) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) {
    return;
  }
  Entry& entry = at->second;
  if (is_local && (events & (EPOLLHUP | EPOLLERR)) != 0) {  // epoll would report it forever: read the rest later
    entry.connection->TakeTheRest();
    SetDeadline(id, entry, MonotonicNow() + kRestPatience);  // no other limit ends the connection from now on
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.connection->local(), nullptr);
    entry.watches_local = false;
    entry.local_events = std::numeric_limits<uint32_t>::max();
  }
  if (!is_local && (events & (EPOLLHUP | EPOLLERR)) != 0) {
    entry.connection->Lose();
  } else {
    entry.connection->Advance();
  }
  Settle(at);
}

void TlsDoor::Settle(Entries::iterator at) {
  Entry& entry = at->second;
  const auto state = entry.connection->state();
  if (entry.reported == TlsConnection::State::kHandshake && state != TlsConnection::State::kHandshake) {
    --shaking_;
    if (--handshakes_[entry.host] == 0) {
      handshakes_.erase(entry.host);
    }
    if (state == TlsConnection::State::kServing) {
      SetDeadline(at->first, entry, Nanos());
      LetIn(entry);
    } else {
      ReportRefused(entry.connection->why());
    }
  }
  const bool begins_to_linger = state == TlsConnection::State::kLingering && entry.reported != state;
  if (begins_to_linger) {
    SetDeadline(at->first, entry, MonotonicNow() + kLingerPatience);
  }
  const bool is_over =
      state == TlsConnection::State::kClosed || (begins_to_linger && lingering_ >= options_.max_lingering);
  CountStates(entry.reported, is_over ? TlsConnection::State::kClosed : state);
  entry.reported = state;
  if (is_over) {
    SetDeadline(at->first, entry, Nanos());
    entries_.erase(at);
    return;
  }
  Watch(at->first, entry);
}

void TlsDoor::CountStates(TlsConnection::State before, TlsConnection::State after) {
  using State = TlsConnection::State;
  serving_ += static_cast<size_t>(after == State::kServing) - static_cast<size_t>(before == State::kServing);
  lingering_ += static_cast<size_t>(after == State::kLingering) - static_cast<size_t>(before == State::kLingering);
}

void TlsDoor::LetIn(Entry& entry) {
  const PeerCertificate& certificate = entry.connection->peer();
  Arrival arrival{entry.connection->TakeServerEnd(), {.uid = kNobody, .gid = kNobody, .groups = {}, .pid = {}}, {}};
  arrival.peer.certificate = std::make_shared<const PeerCertificate>(certificate);
  auto identity = options_.identify(certificate);
  if (identity.has_error()) {
    arrival.verdict = std::move(identity).error();
  } else if (serving_ >= options_.max_connections) {
    arrival.verdict = Because(Reason::kQuota, "the limit of connections over TCP is reached", "try again later");
  } else {
    arrival.peer = std::move(identity).value();
    arrival.peer.certificate = std::make_shared<const PeerCertificate>(certificate);
  }
  const std::lock_guard lock(mutex_);
  arrivals_.push_back(std::move(arrival));
  const uint64_t one = 1;
  (void)!::write(arrived_.get(), &one, sizeof one);
}

void TlsDoor::Watch(uint64_t id, Entry& entry) {
  const uint32_t network = entry.connection->network_interest();
  if (network != entry.network_events) {
    entry.network_events = network;
    SetWatch(epoll_.get(), EPOLL_CTL_MOD, entry.connection->network(), network, EventOf(id, false));
  }
  const int local_fd = entry.connection->local();
  if (local_fd < 0 || entry.local_events == std::numeric_limits<uint32_t>::max()) {
    return;
  }
  const uint32_t local = entry.connection->local_interest();
  if (!entry.watches_local || local != entry.local_events) {
    SetWatch(epoll_.get(), entry.watches_local ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, local_fd, local, EventOf(id, true));
    entry.watches_local = true;
    entry.local_events = local;
  }
}

void TlsDoor::SetDeadline(uint64_t id, Entry& entry, Nanos deadline) {
  deadlines_.erase({entry.deadline, id});
  entry.deadline = deadline;
  if (deadline.value != 0) {
    deadlines_.insert({deadline, id});
  }
}

void TlsDoor::RefuseLate() {
  const Nanos now = MonotonicNow();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto at = entries_.find(deadlines_.begin()->second);
    TlsConnection& connection = *at->second.connection;
    if (connection.state() == TlsConnection::State::kHandshake) {
      connection.Refuse({Code::kUnauthenticated,
                         fmt::format("{}: no TLS handshake within {} s", connection.address(),
                                     options_.handshake_patience.value / 1'000'000'000),
                         "connect with TLS and a certificate: --host tls://HOST:PORT"});
    }
    connection.Lose();
    Settle(at);
  }
}

void TlsDoor::ReportRefused(Error why) {
  const std::optional<size_t> unreported = reported_.Report(MonotonicNow());
  if (!unreported.has_value()) {
    return;
  }
  options_.on_refused(WithUnreported(std::move(why), *unreported), 1 + *unreported);
}

}  // namespace ptrace_prof
