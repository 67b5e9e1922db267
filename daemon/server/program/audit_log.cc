#include "daemon/server/program/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "attach/base/clean_text.h"
#include "attach/base/wall_clock.h"
#include "daemon/server/program/daemon_log.h"
#include "rpc/tls/peer_certificate.h"

namespace ptrace_prof {
namespace {

std::string TimeText(Nanos time) {
  const time_t seconds = time.value / 1'000'000'000;
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:06}Z", text, time.value % 1'000'000'000 / 1000);
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void PutText(Writer& writer, const char* key, std::string_view text) {
  writer.Key(key);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

}  // namespace

std::string_view OutcomeName(AuditOutcome outcome) {
  switch (outcome) {
    case AuditOutcome::kStarted: return "started";
    case AuditOutcome::kAllowed: return "allowed";
    case AuditOutcome::kRefused: return "refused";
    case AuditOutcome::kFailed: break;
  }
  return "failed";
}

AuditOutcome OutcomeOf(const Error& error) {
  const bool is_refusal = error.code == Code::kPermissionDenied || error.code == Code::kUnauthenticated ||
                          ReasonOf(error) == Reason::kQuota;
  return is_refusal ? AuditOutcome::kRefused : AuditOutcome::kFailed;
}

std::string AuditLine(const AuditEntry& entry, Nanos time) {
  rapidjson::StringBuffer line;
  Writer writer(line);
  writer.StartObject();
  PutText(writer, "time", TimeText(time));
  writer.Key("uid");
  writer.Uint(entry.caller.uid);
  writer.Key("gid");
  writer.Uint(entry.caller.gid);
  writer.Key("pid");
  writer.Int(entry.caller.pid.value);
  if (!entry.caller.command.empty()) {
    PutText(writer, "command", CleanText(entry.caller.command));
  }
  if (entry.caller.certificate != nullptr) {
    PutText(writer, "certificate", Describe(*entry.caller.certificate));
    PutText(writer, "address", entry.caller.certificate->address);
  }
  if (entry.caller.munge_uid.has_value()) {
    writer.Key("munge_uid");
    writer.Uint(*entry.caller.munge_uid);
  }
  PutText(writer, "what", entry.what);
  if (entry.target.value != 0) {
    writer.Key("target");
    writer.Int(entry.target.value);
  }
  if (entry.whom.has_value()) {
    writer.Key("target_uid");
    writer.Uint(entry.whom->owner.value);
    PutText(writer, "target_command", CleanText(entry.whom->command));
  }
  if (entry.capture.has_value()) {
    PutText(writer, "capture", entry.capture->id);
    writer.Key("owner");
    writer.Uint(entry.capture->owner.value);
  }
  PutText(writer, "outcome", OutcomeName(entry.outcome));
  if (!entry.rule.empty()) {
    PutText(writer, "rule", entry.rule);
  }
  if (entry.outcome == AuditOutcome::kRefused || entry.outcome == AuditOutcome::kFailed) {
    PutText(writer, "reason", ReasonName(ReasonOf(entry.error)));
    PutText(writer, "message", CleanText(entry.error.message));
  }
  writer.EndObject();
  return {line.GetString(), line.GetSize()};
}

Result<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  struct stat there {};
  if (!file.is_open() || ::fstat(file.get(), &there) != 0) {
    return ErrnoError(errno, fmt::format("cannot open {} for the audit", path),
                      "make its folder, or choose another file with --audit; it must not be a link");
  }
  if (!S_ISREG(there.st_mode) || there.st_uid != ::geteuid() || (there.st_mode & 022) != 0) {
    return Error{
        Code::kPermissionDenied,
        fmt::format("{} cannot hold the audit: it must be a regular file of user {} that no other user can write", path,
                    ::geteuid()),
        fmt::format("chown {} {} && chmod 600 {}, or choose another file with --audit", ::geteuid(), path, path)};
  }
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file)));
}

void AuditLog::Write(const AuditEntry& entry) {
  if (listener_) {
    listener_(entry);
  }
  if (!file_.is_open()) {
    return;
  }
  const std::string line = AuditLine(entry, RealtimeNow()) + "\n";
  ssize_t written = 0;
  do {
    written = ::write(file_.get(), line.data(), line.size());  // one call, so that lines do not mix
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) {
    Log(LogLevel::kError, "audit_failed",
        {{"message", written < 0 ? ErrnoError(errno, "cannot write").message : "cannot write the whole line"},
         {"line", line.substr(0, line.size() - 1)}});
  }
}

}  // namespace ptrace_prof
