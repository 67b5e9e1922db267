#include "rpc/unix_listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "rpc/library_hold.h"
#include "rpc/peer_credentials.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kListen = 0;
constexpr uint64_t kWake = 1;
constexpr Nanos kClosePatience = Nanos::FromSeconds(1);  // whose peer is gone: its calls are cancelled anyway

bool Watch(int epoll, int fd, uint32_t events, uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

UniqueFd OpenSpare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Result<std::unique_ptr<UnixListener>> UnixListener::Start(UniqueFd socket, ListenerOptions options,
                                                          ServicesFactory factory) {
  std::unique_ptr<UnixListener> listener(new UnixListener(std::move(socket), std::move(options), std::move(factory)));
  PP_RETURN_IF_ERROR(listener->Open());
  HoldLibrary();
  listener->reaper_ = std::thread([raw = listener.get()] { raw->ReapLoop(); });
  listener->accepter_ = std::thread([raw = listener.get()] { raw->AcceptLoop(); });
  return listener;
}

UnixListener::UnixListener(UniqueFd socket, ListenerOptions options, ServicesFactory factory)
    : socket_(std::move(socket)),
      options_(std::move(options)),
      factory_(std::move(factory)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(OpenSpare()) {}

Result<void> UnixListener::Open() {
  if (!epoll_.is_open() || !wake_.is_open() || !Watch(epoll_.get(), socket_.get(), EPOLLIN, kListen) ||
      !Watch(epoll_.get(), wake_.get(), EPOLLIN, kWake)) {
    return ErrnoError(errno, "cannot watch the listening socket");
  }
  return {};
}

UnixListener::~UnixListener() { Shutdown(Nanos()); }

size_t UnixListener::connections() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

void UnixListener::AcceptLoop() {
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kWake) {
        return;
      }
      if (events[i].data.u64 == kListen) {
        Accept();
      } else {
        Retire(events[i].data.u64);
      }
    }
  }
}

UniqueFd UnixListener::AcceptOne() {
  UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.is_open() && (errno == EMFILE || errno == ENFILE)) {
    spare_.reset();
    UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    spare_ = OpenSpare();
    options_.on_refused(
        {Code::kResourceExhausted, "no descriptor is left for another connection", "raise `ulimit -n`"});
  }
  return connection;
}

void UnixListener::Accept() {
  UniqueFd connection = AcceptOne();
  if (!connection.is_open()) {
    return;
  }
  if (auto admitted = Admit(std::move(connection)); admitted.has_error()) {
    options_.on_refused(admitted.error());
  }
}

Result<void> UnixListener::Admit(UniqueFd connection) {
  PP_ASSIGN_OR_RETURN(const PeerIdentity peer, ReadPeerIdentity(connection.get()));
  if (std::find(options_.admitted.begin(), options_.admitted.end(), Uid(peer.uid)) == options_.admitted.end()) {
    return Error{Code::kPermissionDenied,
                 fmt::format("user {} (process {}) is not the owner of this server", peer.uid, peer.pid.value), ""};
  }
  if (connections() >= options_.max_connections) {
    return Error{Code::kResourceExhausted,
                 fmt::format("there are {} connections already: process {} is turned away", options_.max_connections,
                             peer.pid.value),
                 ""};
  }
  UniqueFd watched(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 3));
  PP_ASSIGN_OR_RETURN(auto server, ConnectionServer::Start(std::move(connection), factory_(peer)));
  const uint64_t id = next_id_++;
  {
    const std::lock_guard lock(mutex_);
    ++open_;
  }
  const bool is_watched = watched.is_open() && Watch(epoll_.get(), watched.get(), EPOLLRDHUP, id);
  connections_[id] = {std::move(watched), std::move(server)};
  if (!is_watched) {
    const int reason = errno;
    Retire(id);
    return ErrnoError(reason, "cannot watch a connection", "raise `ulimit -n`");
  }
  return {};
}

void UnixListener::Retire(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) {
    return;
  }
  Connection connection = std::move(found->second);
  connections_.erase(found);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.watched.get(), nullptr);
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(connection));
  retired_some_.notify_one();
}

void UnixListener::ReapLoop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    retired_some_.wait(lock, [this] { return !retired_.empty() || finishing_; });
    if (retired_.empty()) {
      return;
    }
    std::vector<Connection> ending = std::move(retired_);
    retired_.clear();
    lock.unlock();
    for (Connection& connection : ending) {
      connection.server->Shutdown(kClosePatience);
      connection = {};
    }
    lock.lock();
    open_ -= ending.size();
  }
}

void UnixListener::Shutdown(Nanos patience) {
  if (!accepter_.joinable()) {
    return;
  }
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  accepter_.join();
  ::shutdown(socket_.get(), SHUT_RDWR);
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    retired_some_.notify_one();
  }
  reaper_.join();
  const Nanos deadline = MonotonicNow() + patience;
  for (auto& [id, connection] : connections_) {
    connection.server->Shutdown(std::max(deadline - MonotonicNow(), Nanos()));
  }
  connections_.clear();
  const std::lock_guard lock(mutex_);
  open_ = 0;
}

}  // namespace ptrace_prof
