// The policy that holds now, and the file that it comes from: read when the daemon starts, and again when it is told to
// (SIGHUP). A file that is wrong then changes nothing, and that is said.
//
// It is read without rights, from the start on: what could be read only as root could not be read again. Only whether
// Yama is waived is read before that, by WaivesYama, as it is for the part that has rights. Thread-safe.
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
  // `file`: what the command line says; empty: the default one, if it is there and root started us (`owner`), for who
  // starts a daemon of their own has no use for rules that do not hold without it.
  static Result<std::unique_ptr<PolicySource>> Open(const std::string& file, Uid owner);

  // Of the same file, before rights are given up; false too where it cannot be read, which Open then says.
  static bool WaivesYama(const std::string& file, Uid owner);

  std::shared_ptr<const Policy> current() const;
  // Cores that the policy lets all collectors use together; nothing: no limit.
  std::optional<double> cpu_budget() const;
  const std::string& file() const { return file_; }  // empty: there is none
  // Reads the file again, and says in the log what has changed, or why nothing has.
  void Reload();

 private:
  PolicySource(std::string file, Uid owner, Policy policy);

  const std::string file_;
  const Uid owner_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> current_;
};

}  // namespace ptrace_prof
