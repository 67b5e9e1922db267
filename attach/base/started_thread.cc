#include "attach/base/started_thread.h"

#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr char kNoThread[] = "cannot start another thread";
constexpr char kRemedy[] = "raise the limit of processes (ulimit -u, TasksMax, pids.max), or end some";

// Includes texts only if there is memory for them.
Error OutOfMemory() try {
  return Because(Reason::kOutOfResources, "there is no memory left", "raise its limit, or end what uses it");
} catch (const std::bad_alloc&) {
  return Error{Code::kResourceExhausted, {}, {}, Reason::kOutOfResources};
}

}  // namespace

Result<std::thread> StartThread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    Error why = ErrnoError(error.code().value(), kNoThread, kRemedy);
    why.reason = Reason::kOutOfResources;
    why.code = CodeOf(why.reason);
    return why;
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

Result<void> Attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& error) {
    return Because(Reason::kOutOfResources, error.what());
  }
}

}  // namespace ptrace_prof
