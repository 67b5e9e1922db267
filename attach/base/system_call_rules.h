// A seccomp filter out of rules about system calls, tried in the order in which they were added; what no rule is about
// gets the verdict that Install names. Calls of another architecture's numbering (x32 too) end the process.
//
// Owned by who puts it on, in a process with one thread and with no_new_privs set; nothing takes it off again, and what
// is forked or executed later has it too. Knows no process and no policy.
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
  // Allowed where the low 32 bits of that argument are one of these; else EPERM.
  void AllowIfOneOf(uint32_t call, uint32_t argument, std::span<const uint32_t> values);
  // Allowed where that argument has none of these bits; else EPERM.
  void AllowWithout(uint32_t call, uint32_t argument, uint32_t bits);

  enum class Rest { kRefused, kAllowed };
  // False where the kernel has no seccomp, or in a sanitizer build, whose runtime needs more.
  bool Install(Rest rest);

 private:
  void Return(uint32_t verdict);
  void Load(uint32_t offset);
  // Skips so many instructions unless the loaded word is this value.
  void Unless(uint32_t value, uint32_t skip);

  std::vector<sock_filter> code_;
};

}  // namespace ptrace_prof
