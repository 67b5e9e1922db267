#include "daemon/server/program/passed_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>

#include "daemon/server/program/taken_variable.h"

namespace ptrace_prof {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
constexpr char kRemedy[] = "in ptrace-profd.socket, use one ListenStream= with a path, and Accept=no";

int Number(const std::string& text) {
  int number = -1;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ptr == end ? number : -1;
}

int Option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

Error Unfit(int fd, const std::string& name, std::string_view why) {
  return {Code::kFailedPrecondition,
          fmt::format("the socket that the service manager passed (descriptor {}{}{}) {}", fd, name.empty() ? "" : ", ",
                      name, why),
          kRemedy};
}

std::string AddressOf(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      length <= offsetof(sockaddr_un, sun_path)) {
    return "(no address)";
  }
  const size_t size = length - offsetof(sockaddr_un, sun_path);
  if (address.sun_path[0] == '\0') {
    return "@" + std::string(address.sun_path + 1, size - 1);
  }
  const std::string path(address.sun_path, size);
  return path.substr(0, path.find('\0'));
}

}  // namespace

Result<std::string> ExaminePassedSocket(int fd, const std::string& name) {
  if (::fcntl(fd, F_GETFD) < 0) {
    return Unfit(fd, name, "is not open");
  }
  const int domain = Option(fd, SO_DOMAIN);
  if (domain < 0) {
    return Unfit(fd, name, "is not a socket");
  }
  if (domain != AF_UNIX) {
    return Unfit(fd, name, "is not a Unix socket: over a network the kernel cannot identify the client");
  }
  if (Option(fd, SO_TYPE) != SOCK_STREAM) {
    return Unfit(fd, name, "is not a stream socket");
  }
  if (Option(fd, SO_ACCEPTCONN) != 1) {
    return Unfit(fd, name, "is not listening");
  }
  return AddressOf(fd);
}

Result<std::optional<PassedSocket>> TakePassedSocket() {
  const std::string for_whom = TakeVariable("LISTEN_PID");
  const std::string how_many = TakeVariable("LISTEN_FDS");
  const std::string names = TakeVariable("LISTEN_FDNAMES");
  if (how_many.empty() || Number(for_whom) != ::getpid() || Number(how_many) == 0) {
    return std::optional<PassedSocket>();
  }
  if (Number(how_many) != 1) {
    return Error{
        Code::kFailedPrecondition,
        fmt::format("the service manager passed {} sockets ({}), but ptrace-profd serves only one", how_many, names),
        kRemedy};
  }
  PP_ASSIGN_OR_RETURN(std::string address, ExaminePassedSocket(kFirst, names));
  if (::fcntl(kFirst, F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(kFirst, F_SETFL, ::fcntl(kFirst, F_GETFL) | O_NONBLOCK) != 0) {
    return ErrnoError(errno, "cannot use the socket that the service manager passed");
  }
  return std::optional(PassedSocket{UniqueFd(kFirst), std::move(address)});
}

}  // namespace ptrace_prof
