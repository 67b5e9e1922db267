#include "attach/proc/fork_trace.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace ptrace_prof {

ForkTrace::ForkTrace() : file_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)) {}

std::optional<ForkTrace::Range> ForkTrace::Take() {
  std::array<char, 128> buffer{};
  const ssize_t got = file_.is_open() ? ::pread(file_.get(), buffer.data(), buffer.size(), 0) : -1;
  std::string_view text(buffer.data(), got > 0 ? static_cast<size_t>(got) : 0);
  text = text.substr(0, text.find_last_not_of(" \n") + 1);
  const size_t blank = text.rfind(' ');
  int32_t last = 0;
  if (blank != std::string_view::npos) {
    std::from_chars(text.data() + blank + 1, text.data() + text.size(), last);
  }
  const int32_t before = std::exchange(last_, last);
  if (before == 0 || last == 0 || last < before) {
    return std::nullopt;
  }
  return Range{before + 1, last};
}

std::optional<bool> HaveOneMemory(Pid one, Pid other) {
  const long order = ::syscall(SYS_kcmp, one.value, other.value, KCMP_VM, 0, 0);
  return order < 0 ? std::nullopt : std::optional(order == 0);
}

}  // namespace ptrace_prof
