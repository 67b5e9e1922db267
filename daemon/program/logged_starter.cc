#include "daemon/program/logged_starter.h"

#include "daemon/program/daemon_log.h"

namespace ptrace_prof {
namespace {

const char* VerbName(CaptureVerb verb) {
  switch (verb) {
    case CaptureVerb::kRecord: return "record";
    case CaptureVerb::kDump: return "dump";
    case CaptureVerb::kList: return "list";
    case CaptureVerb::kDoctor: return "doctor";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<Collector>> LoggedStarter::Start(const CaptureRequest& request) {
  auto started = starter_.Start(request);
  const std::string uid = std::to_string(uid_.value);
  const std::string caller = std::to_string(pid_.value);
  const std::string target = std::to_string(request.pid.value);
  if (started.has_error()) {
    Log(LogLevel::kWarning, "collector_failed",
        {{"uid", uid},
         {"caller", caller},
         {"verb", VerbName(request.verb)},
         {"target", target},
         {"message", started.error().message}});
  } else {
    Log(LogLevel::kInfo, "collector_started",
        {{"uid", uid}, {"caller", caller}, {"verb", VerbName(request.verb)}, {"target", target}});
  }
  return started;
}

}  // namespace ptrace_prof
