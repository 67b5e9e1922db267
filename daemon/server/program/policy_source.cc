#include "daemon/server/program/policy_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "daemon/server/policy/policy_file.h"
#include "daemon/server/program/daemon_log.h"

namespace ptrace_prof {
namespace {

// The default file needs no option. A file that exists but cannot be read still counts as a policy.
bool HasDefaultFile() { return ::access(kDefaultPolicyFile, F_OK) == 0 || errno == EACCES; }

std::string Choose(const std::string& file, Uid owner) {
  const bool takes_default = file.empty() && owner.value == 0 && HasDefaultFile();
  return takes_default ? kDefaultPolicyFile : file;
}

}  // namespace

Result<std::unique_ptr<PolicySource>> PolicySource::Open(const std::string& file, Uid owner) {
  const std::string chosen = Choose(file, owner);
  Policy policy;
  if (!chosen.empty()) {
    PP_ASSIGN_OR_RETURN(policy, ReadPolicy(chosen, owner));
    Log(LogLevel::kInfo, "policy_read",
        {{"file", chosen},
         {"default", policy.allows_by_default ? "allow" : "deny"},
         {"yama", policy.waives_yama ? "waive" : "obey"},
         {"rules", std::to_string(policy.rules.size())},
         {"quotas", std::to_string(policy.quotas.size())}});
  }
  return std::unique_ptr<PolicySource>(new PolicySource(chosen, owner, std::move(policy)));
}

bool PolicySource::WaivesYama(const std::string& file, Uid owner) {
  const std::string chosen = Choose(file, owner);
  const auto policy = chosen.empty() ? Result<Policy>(Policy()) : ReadPolicy(chosen, owner);
  return policy.has_value() && policy.value().waives_yama;
}

PolicySource::PolicySource(std::string file, Uid owner, Policy policy)
    : file_(std::move(file)), owner_(owner), current_(std::make_shared<const Policy>(std::move(policy))) {}

std::shared_ptr<const Policy> PolicySource::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::optional<double> PolicySource::cpu_budget() const {
  const std::optional<double> share = current()->cpu_share;
  return share.has_value() ? std::optional(*share * std::max(std::thread::hardware_concurrency(), 1U)) : std::nullopt;
}

void PolicySource::Reload() {
  const std::string file = file_.empty() ? Choose(file_, owner_) : file_;  // the default file may be new
  if (file.empty()) {
    Log(LogLevel::kInfo, "policy_unchanged",
        {{"message", "there is no policy to read"}, {"remedy", std::string("put it into ") + kDefaultPolicyFile}});
    return;
  }
  auto read = ReadPolicy(file, owner_);
  if (read.has_error()) {
    Error error = std::move(read).error();
    error.message = "the previous policy stays in force: " + error.message;
    Log(LogLevel::kError, "policy_unchanged", error);
    return;
  }
  auto policy = std::make_shared<const Policy>(std::move(read).value());
  const std::string changes = PolicyChanges(*current(), *policy);
  const std::lock_guard lock(mutex_);
  current_ = std::move(policy);
  Log(LogLevel::kInfo, "policy_read_again", {{"file", file}, {"changes", changes}});
}

}  // namespace ptrace_prof
