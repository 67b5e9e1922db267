#include "client/cli/captures/capture_choice.h"

#include <fmt/format.h>

namespace ptrace_prof {

Result<RemoteCapture> ChooseCapture(std::span<const RemoteCapture> captures, const std::string& written) {
  const RemoteCapture* found = nullptr;
  std::string ids;
  int count = 0;
  for (const RemoteCapture& capture : captures) {
    const std::string id = capture.id();
    if (written == id || written == capture.name) {
      return capture;
    }
    if (!written.empty() && id.starts_with(written)) {
      found = &capture;
      ids += (ids.empty() ? "" : ", ") + id;
      ++count;
    }
  }
  if (count > 1) {
    return Error{Code::kInvalidArgument, fmt::format("'{}' matches {} captures", written, count),
                 fmt::format("give more characters of one ID: {}", ids)};
  }
  if (found == nullptr) {
    return Error{Code::kNotFound, fmt::format("there is no capture '{}'", written),
                 "ptrace-prof captures list shows their IDs"};
  }
  return *found;
}

}  // namespace ptrace_prof
