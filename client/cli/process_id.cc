#include "client/cli/process_id.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <optional>

namespace ptrace_prof {
namespace {

constexpr int32_t kLargestPid = 4'194'304;  // the largest of Linux (PID_MAX_LIMIT)

Error Invalid(std::string_view what, std::string_view text, std::string_view allowed) {
  return Error{Code::kInvalidArgument, fmt::format("'{}' is not {}", text, what), fmt::format("write {}", allowed)};
}

std::optional<int32_t> ParseId(std::string_view text) {
  int32_t id = 0;
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (err != std::errc() || end != text.data() + text.size() || id < 1) {
    return std::nullopt;
  }
  return id;
}

}  // namespace

Result<Pid> ParsePid(std::string_view text) {
  const auto id = ParseId(text);
  if (!id.has_value()) {
    return Invalid("a process id", text, "a number such as `pgrep -f train.py` prints");
  }
  if (*id > kLargestPid) {
    return Invalid("a process id", text,
                   fmt::format("a number such as `pgrep -f train.py` prints, at most {}", kLargestPid));
  }
  return Pid(*id);
}

Result<Pid> ParseTarget(std::string_view text) {
  PP_ASSIGN_OR_RETURN(const Pid pid, ParsePid(text));
  if (pid.value == ::getpid()) {
    return Because(Reason::kTargetIsProfiler, "this is the process id of ptrace-prof itself",
                   "give the id of another process");
  }
  return pid;
}

}  // namespace ptrace_prof
