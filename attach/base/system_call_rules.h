// Builds a seccomp filter out of rules about system calls. Rules are tried in the order in which they were added; a
// call without a rule gets the verdict passed to Install. Calls by another architecture's numbering (including x32) end
// the process.
//
// Install it in a process with one thread and no_new_privs set. It cannot be removed, and children and executed
// programs inherit it. Knows no process and no policy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

struct sock_filter;

namespace ptrace_prof {

class SystemCallRules {
 public:
  SystemCallRules();
  ~SystemCallRules();
  SystemCallRules(const SystemCallRules&) = delete;
  SystemCallRules& operator=(const SystemCallRules&) = delete;

  void Allow(std::span<const uint32_t> calls);
  void Refuse(std::span<const uint32_t> calls, int error_number);
  // Allows the call if the low 32 bits of that argument are one of these; else EPERM.
  void AllowIfOneOf(uint32_t call, uint32_t argument, std::span<const uint32_t> values);
  // Allows the call if that argument has none of these bits; else EPERM.
  void AllowWithout(uint32_t call, uint32_t argument, uint32_t bits);

  enum class Rest { kRefused, kAllowed };
  // Returns false if the kernel has no seccomp, or in a sanitizer build, whose runtime needs more calls.
  bool Install(Rest rest);

 private:
  void Return(uint32_t verdict);
  void Load(uint32_t offset);
  // Skips `skip` instructions unless the loaded word equals `value`.
  void Unless(uint32_t value, uint32_t skip);

  std::vector<sock_filter> code_;
};

}  // namespace ptrace_prof
