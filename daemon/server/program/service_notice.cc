#include "daemon/server/program/service_notice.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "daemon/server/program/taken_variable.h"

namespace ptrace_prof {
namespace {

constexpr timeval kSendPatience{1, 0};  // for a service manager that does not read

std::optional<int64_t> WholeNumber(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return text.empty() || error != std::errc() || at != end ? std::nullopt : std::optional(number);
}

// Keeps the status on one line, whatever the text contains.
std::string StatusLine(std::string_view status) {
  std::string line = fmt::format("STATUS={}", status);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string TimeoutLine(Nanos most) { return fmt::format("EXTEND_TIMEOUT_USEC={}", most.value / 1000); }

}  // namespace

ServiceNotice::ServiceNotice() {
  const std::string address = TakeVariable("NOTIFY_SOCKET");
  const auto watchdog = WholeNumber(TakeVariable("WATCHDOG_USEC"));
  const auto watched = WholeNumber(TakeVariable("WATCHDOG_PID"));
  if (address.empty()) {
    return;
  }
  auto connected = Connect(address);
  if (connected.has_error()) {
    trouble_ = std::move(connected).error();
    return;
  }
  socket_ = std::move(connected).value();
  if (watchdog.value_or(0) > 0 && watched.value_or(::getpid()) == ::getpid()) {
    alive_every_ = Nanos(*watchdog * 1000 / 3);  // two may be late
  }
}

Result<UniqueFd> ServiceNotice::Connect(const std::string& address) {
  constexpr char kRemedy[] = "start it by a service manager that supports sd_notify, or unset NOTIFY_SOCKET";
  const std::string what = fmt::format("cannot report to the service manager at {}", address);
  sockaddr_un name{};
  if ((address[0] != '/' && address[0] != '@') || address.size() >= sizeof name.sun_path) {
    return Error{Code::kInvalidArgument, what + ": that is neither a path nor an abstract name of a Unix socket",
                 kRemedy};
  }
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.data(), address.size());
  const bool is_abstract = address[0] == '@';
  if (is_abstract) {
    name.sun_path[0] = '\0';
  }
  const size_t length = offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(length)) != 0) {
    return ErrnoError(errno, what, kRemedy);
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof kSendPatience);
  return socket;
}

void ServiceNotice::Send(std::string_view lines) const {
  if (socket_.is_open()) {
    while (::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }
}

void ServiceNotice::Ready(std::string_view status) { Send("READY=1\n" + StatusLine(status)); }

void ServiceNotice::Status(std::string_view status) { Send(StatusLine(status)); }

void ServiceNotice::Stopping(std::string_view status, Nanos most) {
  Send(fmt::format("STOPPING=1\n{}\n{}", TimeoutLine(most), StatusLine(status)));
}

void ServiceNotice::Starting(std::string_view status, Nanos most) {
  Send(fmt::format("{}\n{}", TimeoutLine(most), StatusLine(status)));
}

void ServiceNotice::Alive() { Send("WATCHDOG=1"); }

}  // namespace ptrace_prof
