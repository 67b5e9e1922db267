#include "rpc/unix/unix_listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/base/own_memory.h"
#include "attach/base/started_thread.h"
#include "rpc/connection/descriptor_pause.h"
#include "rpc/connection/library_hold.h"
#include "rpc/unix/peer_credentials.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kListening = 0;
constexpr uint64_t kWoken = 1;
constexpr uint64_t kDoor = 2;
constexpr int kQuietPauseMs = 5;
constexpr int kLookEveryMs = 100;
constexpr int kStrikes = 3;
constexpr uint64_t kMuchMemory = uint64_t{64} << 20;      // resident; a busy daemon has half of it
constexpr uint64_t kTooMuchMemory = uint64_t{256} << 20;  // page cache of traces does not count
constexpr size_t kWideConnections = 32;                   // of one user
constexpr int kMostCalls = 128;                           // at once, on each of these
constexpr int kFewCalls = 16;                             // on each of a user's further connections
constexpr Uid kRefusedUser{0xffffffff};                   // for all refused peers together; not the number of any user
const Error kNoDescriptor{Code::kResourceExhausted, "no file descriptor is left for another connection",
                          "raise `ulimit -n`"};

bool Watch(int epoll, int fd, uint32_t events, uint64_t id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// The bytes that are allocated with malloc. The resident size may be larger after much was freed.
uint64_t AllocatedBytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

UniqueFd OpenSpare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

std::function<Result<void>(const PeerIdentity&)> AdmitOnly(std::vector<Uid> users) {
  return [users = std::move(users)](const PeerIdentity& peer) -> Result<void> {
    if (std::find(users.begin(), users.end(), Uid(peer.uid)) != users.end()) {
      return {};
    }
    return Error{Code::kPermissionDenied,
                 fmt::format("user {} (process {}) is not the owner of this server", peer.uid, peer.pid.value),
                 "start a ptrace-profd of your own, or have root start one with --multi-user"};
  };
}

Result<std::unique_ptr<UnixListener>> UnixListener::Start(UniqueFd socket, ListenerOptions options,
                                                          ServicesFactory factory) {
  std::unique_ptr<UnixListener> listener(new UnixListener(std::move(socket), std::move(options), std::move(factory)));
  PP_RETURN_IF_ERROR(listener->Open());
  HoldLibrary();
  PP_ASSIGN_OR_RETURN(listener->reaper_, StartThread([raw = listener.get()] { raw->ReapLoop(); }));
  PP_ASSIGN_OR_RETURN(listener->accepter_, StartThread([raw = listener.get()] { raw->AcceptLoop(); }));
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
  const bool has_doorkeeper = options_.doorkeeper != nullptr;
  const int door = has_doorkeeper ? options_.doorkeeper->fd() : socket_.get();
  if (!epoll_.is_open() || !wake_.is_open() ||
      !Watch(epoll_.get(), door, EPOLLIN, has_doorkeeper ? kDoor : kListening) ||
      !Watch(epoll_.get(), wake_.get(), EPOLLIN, kWoken)) {
    return ErrnoError(errno, "cannot watch the listening socket");
  }
  return {};
}

UnixListener::~UnixListener() { Shutdown(Nanos()); }

size_t UnixListener::connections() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

void UnixListener::Count(int more) {
  const std::lock_guard lock(mutex_);
  open_ += static_cast<size_t>(more);
}

void UnixListener::AcceptLoop() {
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, NextTimeout());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kWoken) {
        return;
      }
      (void)Attempt([this, what = events[i].data.u64] { ServeEvent(what); });  // no memory: the peer sees it closed
    }
    RetireRefused();
    RetireGreedy();
  }
}

void UnixListener::ServeEvent(uint64_t what) {
  if (what == kListening) {
    Accept();
  } else if (what == kDoor) {
    AcceptFromDoorkeeper();
  } else {
    Retire(what);
  }
}

int UnixListener::NextTimeout() const {
  if (refused_.empty()) {
    return connections_.empty() ? -1 : kLookEveryMs;
  }
  const Nanos left = refused_.front().first - MonotonicNow();
  return static_cast<int>(std::clamp<int64_t>(left.value / 1'000'000 + 1, 0, kLookEveryMs));
}

void UnixListener::RetireRefused() {
  const Nanos now = MonotonicNow();
  while (refused_.size() > options_.max_refused || (!refused_.empty() && refused_.front().first <= now)) {
    Retire(refused_.front().second);
    refused_.pop_front();
  }
}

// Disconnects clients that hold much memory: those with more open calls than allowed and, once memory use is too high,
// those with a call whose request does not arrive (a well-behaved client sends it at once). Counting takes some
// microseconds per connection.
void UnixListener::RetireGreedy() {
  const Nanos now = MonotonicNow();
  if (now - looked_ < Nanos::FromMillis(kLookEveryMs)) {
    return;
  }
  looked_ = now;
  const uint64_t resident = ReadOwnMemory().resident;
  const uint64_t memory = resident < kMuchMemory ? 0 : std::min(resident, AllocatedBytes());
  if (resident > kTooMuchMemory && memory < kMuchMemory) {
    ::malloc_trim(0);  // returns freed memory to the kernel
  }
  std::vector<uint64_t> greedy;
  for (auto& [id, connection] : connections_) {
    if (memory < kMuchMemory) {
      connection.strikes = 0;
    } else if (IsGreedy(connection, memory > kTooMuchMemory)) {
      greedy.push_back(id);
      options_.on_refused(connection.peer,
                          Because(Reason::kQuota, "a client began more calls than allowed, or sent incomplete requests",
                                  "keep to the SETTINGS of HTTP/2, and send complete requests"));
    }
  }
  for (const uint64_t id : greedy) {
    ::shutdown(connections_[id].watched.get(), SHUT_RDWR);  // no more bytes are read, even before the reaper handles it
    Retire(id);
  }
}

// Requires several strikes, because calls come and go while they are counted.
bool UnixListener::IsGreedy(Connection& connection, bool is_too_much) {
  const ConnectionServer::Calls calls = connection.server->CountCalls();
  connection.strikes = calls.open > calls.most || (is_too_much && calls.silent > 0) ? connection.strikes + 1 : 0;
  return calls.open > 2 * calls.most || connection.strikes >= kStrikes;
}

UniqueFd UnixListener::AcceptOne() {
  UniqueFd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection.is_open() && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
    spare_.reset();
    UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).reset();
    spare_ = OpenSpare();
    options_.on_refused({}, kNoDescriptor);
    ::usleep(kNoDescriptorPauseMs * 1000);  // waiting connections are still there then
  }
  return connection;
}

void UnixListener::Accept() {
  UniqueFd connection = AcceptOne();
  if (!connection.is_open()) {
    return;
  }
  auto peer = ReadPeerIdentity(connection.get());
  Arrival arrival{std::move(connection), {}, {}};
  if (peer.has_error()) {
    arrival.verdict = std::move(peer).error();
  } else {
    arrival.peer = std::move(peer).value();
  }
  Receive(std::move(arrival));
}

void UnixListener::AcceptFromDoorkeeper() {
  if (auto arrival = options_.doorkeeper->Take(); arrival.has_value()) {
    Receive(std::move(*arrival));
  }
  if (options_.doorkeeper->has_left()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, options_.doorkeeper->fd(), nullptr);
    Watch(epoll_.get(), socket_.get(), EPOLLIN, kListening);
  }
}

size_t UnixListener::CountOf(Uid user) const {
  return static_cast<size_t>(
      std::ranges::count_if(connections_, [&](const auto& one) { return Uid(one.second.peer.uid) == user; }));
}

// Gives few calls to each further connection of a user with many: such users make few calls on each.
ConnectionShare UnixListener::ShareOf(Uid user) {
  return {.memory = memory_.Of(user), .calls = CountOf(user) < kWideConnections ? kMostCalls : kFewCalls};
}

Result<void> UnixListener::CheckLimits(const PeerIdentity& peer) const {
  const size_t of_user = CountOf(Uid(peer.uid));
  if (of_user >= options_.max_per_user) {
    return Because(Reason::kQuota,
                   fmt::format("user {} has {} connections to this server, which is the limit", peer.uid, of_user),
                   "close some of them", fmt::format("user {}", peer.uid));
  }
  return {};
}

void UnixListener::Receive(Arrival arrival) {
  if (arrival.connection.is_open() && arrival.peer.pid.value != 0) {
    arrival.peer.command = ReadPeerCommand(arrival.connection.get(), arrival.peer.pid);
  }
  const PeerIdentity peer = arrival.peer;
  if (!arrival.connection.is_open()) {  // the peer sees its connection closed
    options_.on_refused(peer, kNoDescriptor);
    return;
  }
  const size_t most = options_.max_connections - (peer.is_administrator ? 0 : options_.reserved);
  if (const size_t there = connections(); there >= most) {  // not even room for a refusal
    options_.on_refused(peer, {Code::kResourceExhausted,
                               fmt::format("{} of {} connections are in use: the connection of process {} was refused",
                                           there, most, peer.pid.value),
                               ""});
    return;
  }
  Result<void> verdict = arrival.verdict;
  verdict = verdict.has_error() ? std::move(verdict) : CheckLimits(peer);
  verdict = verdict.has_error() ? std::move(verdict) : options_.admit(peer);
  verdict = verdict.has_error() ? std::move(verdict) : CheckRoomForMore();
  if (verdict.has_error()) {
    options_.on_refused(peer, verdict.error());
  }
  if (const auto served = Serve(std::move(arrival), verdict); served.has_error()) {
    options_.on_refused(peer, served.error());
  }
}

Result<void> UnixListener::Serve(Arrival arrival, const Result<void>& verdict) {
  const PeerIdentity& peer = arrival.peer;
  UniqueFd watched(::fcntl(arrival.connection.get(), F_DUPFD_CLOEXEC, 3));
  int reason = watched.is_open() ? 0 : errno;
  Count(1);  // before any answer is sent
  ConnectionShare share =
      verdict.has_error() ? ConnectionShare{memory_.Of(kRefusedUser), kFewCalls} : ShareOf(Uid(peer.uid));
  auto server = verdict.has_error()
                    ? ConnectionServer::StartRefusing(std::move(arrival.connection), std::move(share), verdict.error())
                    : ConnectionServer::Start(std::move(arrival.connection), std::move(share), factory_(peer));
  if (server.has_error()) {
    Count(-1);
    return std::move(server).error();
  }
  const uint64_t id = next_id_++;
  if (verdict.has_error()) {
    refused_.emplace_back(MonotonicNow() + options_.refusal_time, id);
  }
  if (watched.is_open() && !Watch(epoll_.get(), watched.get(), EPOLLRDHUP, id)) {
    reason = errno;
  }
  connections_[id] = {std::move(watched), std::move(server).value(), peer};
  if (reason != 0) {
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
      connection.server->Shutdown(Nanos());  // its peer is gone, or it was refused and its time is over
      connection = {};
    }
    lock.lock();
    open_ -= ending.size();
  }
}

// Waits until clients have read everything. gRPC closes a connection as soon as its last bytes are in the socket. A
// client that is still reading then fails to send its flow control, and drops what it has not read.
void UnixListener::AwaitQuiet(Nanos deadline) const {
  const auto is_quiet = [](const auto& one) {
    int unread = 0;
    return one.second.server->known_calls() == 0 &&
           (::ioctl(one.second.watched.get(), SIOCOUTQ, &unread) != 0 || unread == 0);
  };
  while (!std::ranges::all_of(connections_, is_quiet) && MonotonicNow() < deadline) {
    ::usleep(kQuietPauseMs * 1000);
  }
}

void UnixListener::Shutdown(Nanos patience) {
  if (!reaper_.joinable()) {
    return;
  }
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  if (accepter_.joinable()) {  // no thread if Start failed
    accepter_.join();
  }
  if (options_.doorkeeper != nullptr) {
    options_.doorkeeper->StopLettingIn();
  }
  if (!options_.is_lent) {
    ::shutdown(socket_.get(), SHUT_RDWR);
  }
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    retired_some_.notify_one();
  }
  reaper_.join();
  const Nanos deadline = MonotonicNow() + patience;
  AwaitQuiet(deadline);
  for (auto& [id, connection] : connections_) {
    connection.server->Shutdown(std::max(deadline - MonotonicNow(), Nanos()));
  }
  connections_.clear();
  options_.doorkeeper.reset();  // last: it may still deliver what the servers sent
  const std::lock_guard lock(mutex_);
  open_ = 0;
}

}  // namespace ptrace_prof
