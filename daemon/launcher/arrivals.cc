#include "daemon/launcher/arrivals.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace ptrace_prof {
namespace {

constexpr int kAtOnce = 256;           // accepted before the launcher serves its other sockets
constexpr size_t kMostWaiting = 1024;  // per user; with few descriptors, a quarter of their limit
constexpr size_t kMostUsers = 1024;    // with a remembered state
constexpr Nanos kLookEvery = Nanos::FromMillis(20);
constexpr Nanos kPace = Nanos::FromMillis(10);
constexpr int64_t kWithoutPace = 32;  // connections allowed at once after a quiet time

bool HasLeft(const UniqueFd& connection) {
  pollfd look{connection.get(), POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

size_t MostWaiting() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min<size_t>(kMostWaiting, limit.rlim_cur / 4) : kMostWaiting;
}

}  // namespace

Arrivals::Arrivals() : most_waiting_(MostWaiting()) {}

Nanos Arrivals::TurnOf(uid_t uid, const User& user) {
  return uid == 0 ? Nanos() : user.used_up_until - Nanos(kPace.value * (kWithoutPace - 1));
}

void Arrivals::Take(int listening, Nanos now) {
  for (int i = 0; i < kAtOnce; ++i) {
    UniqueFd connection(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.is_open()) {
      Sort(std::move(connection), now);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      ::poll(nullptr, 0, kNoDescriptorPauseMs);
    }
    return;
  }
}

void Arrivals::Sort(UniqueFd connection, Nanos now) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (HasLeft(connection) || ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return;
  }
  if (users_.size() >= kMostUsers) {
    ForgetQuiet(now);
  }
  if (users_.size() >= kMostUsers && credentials.uid != 0 && !users_.contains(credentials.uid)) {
    return;
  }
  User& user = users_[credentials.uid];
  if (user.waiting.size() >= most_waiting_ && now >= user.next_look) {
    user.next_look = now + kLookEvery;
    std::erase_if(user.waiting, &HasLeft);
  }
  if (user.waiting.size() < most_waiting_) {
    user.waiting.push_back(std::move(connection));
  }
}

void Arrivals::ForgetQuiet(Nanos now) {
  std::erase_if(users_,
                [now](const auto& one) { return one.second.waiting.empty() && one.second.used_up_until <= now; });
}

std::map<uid_t, Arrivals::User>::iterator Arrivals::WhoseTurn(Nanos now) {
  const auto is_ready = [now](const auto& one) {
    return !one.second.waiting.empty() && TurnOf(one.first, one.second) <= now;
  };
  if (const auto root = users_.find(0); root != users_.end() && is_ready(*root)) {
    return root;
  }
  const auto after_last = users_.upper_bound(last_);
  const auto later = std::find_if(after_last, users_.end(), is_ready);
  if (later != users_.end()) {
    return later;
  }
  const auto earlier = std::find_if(users_.begin(), after_last, is_ready);
  return earlier == after_last ? users_.end() : earlier;
}

UniqueFd Arrivals::Next(Nanos now) {
  for (auto turn = WhoseTurn(now); turn != users_.end(); turn = WhoseTurn(now)) {
    UniqueFd connection = std::move(turn->second.waiting.front());
    turn->second.waiting.pop_front();
    if (!HasLeft(connection)) {
      last_ = turn->first;
      turn->second.used_up_until = std::max(turn->second.used_up_until, now) + kPace;
      return connection;
    }
  }
  return {};
}

std::optional<Nanos> Arrivals::NextTurn() const {
  std::optional<Nanos> next;
  for (const auto& [uid, user] : users_) {
    if (!user.waiting.empty()) {
      next = std::min(next.value_or(Nanos(INT64_MAX)), TurnOf(uid, user));
    }
  }
  return next;
}

}  // namespace ptrace_prof
