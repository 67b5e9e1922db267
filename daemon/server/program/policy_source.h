// The current policy and its file. The file is read when the daemon starts, and again on SIGHUP. A faulty file then
// changes nothing, and the log says so.
//
// The file is read without privileges from the start: a file that only root can read could not be reloaded. Only
// WaivesYama reads it before, for the privileged part. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

inline constexpr char kDefaultPolicyFile[] = "/etc/ptrace-prof/policy.toml";

class PolicySource {
 public:
  // `file`: from the command line. If it is empty, and root started us (`owner`), the default file is used if it
  // exists. A daemon of an ordinary user needs no such rules, because that user is not bound by them without the
  // daemon.
  static Result<std::unique_ptr<PolicySource>> Open(const std::string& file, Uid owner);

  // Reads the same file before privileges are dropped. Also false if it cannot be read, which Open then reports.
  static bool WaivesYama(const std::string& file, Uid owner);

  std::shared_ptr<const Policy> current() const;
  // The number of cores that all collectors may use together; nothing: no limit.
  std::optional<double> cpu_budget() const;
  const std::string& file() const { return file_; }  // empty: there is none
  // Reads the file again, and logs what has changed, or why nothing has.
  void Reload();

 private:
  PolicySource(std::string file, Uid owner, Policy policy);

  const std::string file_;
  const Uid owner_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> current_;
};

}  // namespace ptrace_prof
