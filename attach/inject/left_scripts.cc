#include "attach/inject/left_scripts.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "attach/inject/script_files.h"
#include "attach/inject/script_threads.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromSeconds(1);

struct LeftScript {
  RemoteAddr thread;
  size_t path_size = 0;
};

Result<std::vector<LeftScript>> Find(ScriptThreads& threads, const std::string& prefix) {
  std::vector<LeftScript> found;
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> all, threads.List());
  for (const RemoteAddr thread : all) {
    PP_ASSIGN_OR_RETURN(const ScriptRequest request, threads.Read(thread));
    if (request.path.find(prefix) != std::string::npos) {
      found.push_back({thread, request.path.size()});
    }
  }
  return found;
}

}  // namespace

Result<void> RemoveLeftScripts(const InjectionTarget& target, RemoteMemory& memory, StopCost& cost) {
  if (!target.scripts || target.script_files == nullptr) {
    return {};
  }
  ScriptThreads threads(target.pid, memory, *target.scripts);
  PP_ASSIGN_OR_RETURN(const std::string prefix, ScriptPrefix(target.pid));
  PP_ASSIGN_OR_RETURN(const std::vector<LeftScript> some, Find(threads, "/" + prefix));
  if (some.empty()) {
    return {};
  }
  PP_ASSIGN_OR_RETURN(const bool lives, target.script_files->AnotherHasOne());
  if (lives) {
    return Because(Reason::kBeingTraced, fmt::format("process {} is being traced already", target.pid.value),
                   "Wait for the end of that capture, or cancel it.", ThingOf(target.pid));
  }
  const auto clear = [&]() -> Result<bool> {
    PP_ASSIGN_OR_RETURN(StoppedThreads stopped, StopForAMoment(target.pid));
    const TimedStop stop(std::move(stopped), cost);
    PP_ASSIGN_OR_RETURN(const std::vector<LeftScript> left, Find(threads, "/" + prefix));
    for (const LeftScript& script : left) {
      PP_RETURN_IF_ERROR(threads.Clear(script.thread, script.path_size));
    }
    return true;
  };
  PP_RETURN_IF_ERROR(RetryStops(clear, NotStopped(), MonotonicNow() + kPatience));
  return target.script_files->Remove();
}

}  // namespace ptrace_prof
