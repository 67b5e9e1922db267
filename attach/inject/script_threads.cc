#include "attach/inject/script_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr int kMaxThreads = 16384;
constexpr size_t kMostAsked = 128;

}  // namespace

Result<std::vector<RemoteAddr>> ScriptThreads::List() {
  std::vector<RemoteAddr> found;
  uint64_t at = 0;
  if (memory_.ReadValue(requests_.list_head, &at) != ReadStatus::kOk) {
    at = 0;
  }
  for (int count = 0; at != 0 && count < kMaxThreads; ++count) {
    uint64_t owner = 0;
    uint64_t next = 0;
    if (memory_.ReadValue(RemoteAddr(at) + requests_.list_owner, &owner) != ReadStatus::kOk ||
        memory_.ReadValue(RemoteAddr(at) + requests_.list_next, &next) != ReadStatus::kOk ||
        owner != requests_.owner.value) {
      break;
    }
    found.emplace_back(at);
    at = next;
  }
  if (found.empty()) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  if (found.size() > kMostAsked) {
    found.erase(found.begin() + (kMostAsked - 1), found.end() - 1);
  }
  return found;
}

Result<ScriptRequest> ScriptThreads::Read(RemoteAddr thread) {
  ScriptRequest request;
  int32_t waits = 0;
  std::vector<char> path(requests_.path_bytes);
  const ReadStatus status = memory_.ReadValue(thread + requests_.waits, &waits);
  if (status == ReadStatus::kGone) {
    return ErrnoError(ESRCH, fmt::format("cannot read process {}", writer_.pid().value));
  }
  if (status != ReadStatus::kOk || memory_.Read(thread + requests_.path, path.data(), path.size()) != ReadStatus::kOk) {
    return request;
  }
  request.waits = waits != 0;
  request.path.assign(path.begin(), std::ranges::find(path, '\0'));
  return request;
}

Result<void> ScriptThreads::Ask(RemoteAddr thread, const std::string& path) {
  uint64_t breaker = 0;
  if (memory_.ReadValue(thread + requests_.breaker, &breaker) != ReadStatus::kOk) {
    return Error{Code::kGone, "the target has become another program", ""};
  }
  PP_RETURN_IF_ERROR(
      writer_.Write(thread + requests_.path, {reinterpret_cast<const uint8_t*>(path.c_str()), path.size() + 1}));
  PP_RETURN_IF_ERROR(writer_.WriteValue(thread + requests_.waits, int32_t{1}));
  return writer_.WriteValue(thread + requests_.breaker, breaker | requests_.breaker_bit);
}

Result<void> ScriptThreads::Clear(RemoteAddr thread, size_t path_size) {
  PP_RETURN_IF_ERROR(writer_.WriteValue(thread + requests_.waits, int32_t{0}));
  const std::vector<uint8_t> zeros(std::min<size_t>(path_size, requests_.path_bytes));
  return writer_.Write(thread + requests_.path, zeros);
}

}  // namespace ptrace_prof
