#include "attach/base/system_call_rules.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>

#include "attach/base/sanitizers.h"

namespace ptrace_prof {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kFirstForeign = 0x40000000;  // x32: the same architecture to the kernel, but other call numbers
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kFirstForeign = 0x80000000;
#endif

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

}  // namespace

SystemCallRules::SystemCallRules() {
  Load(offsetof(seccomp_data, arch));
  code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  Return(SECCOMP_RET_KILL_PROCESS);
  Load(offsetof(seccomp_data, nr));
  code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstForeign, 0, 1));
  Return(SECCOMP_RET_KILL_PROCESS);
}

SystemCallRules::~SystemCallRules() = default;

void SystemCallRules::Return(uint32_t verdict) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }

void SystemCallRules::Load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }

void SystemCallRules::Unless(uint32_t value, uint32_t skip) {
  code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<uint8_t>(skip)));
}

void SystemCallRules::Allow(std::span<const uint32_t> calls) {
  for (const uint32_t call : calls) {
    Unless(call, 1);
    Return(SECCOMP_RET_ALLOW);
  }
}

void SystemCallRules::Refuse(std::span<const uint32_t> calls, int error_number) {
  for (const uint32_t call : calls) {
    Unless(call, 1);
    Return(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error_number));
  }
}

void SystemCallRules::AllowIfOneOf(uint32_t call, uint32_t argument, std::span<const uint32_t> values) {
  Unless(call, static_cast<uint32_t>(2 * values.size() + 2));
  Load(static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t)));
  Allow(values);
  Return(kRefuse);
}

void SystemCallRules::AllowWithout(uint32_t call, uint32_t argument, uint32_t bits) {
  Unless(call, 4);
  Load(static_cast<uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(uint64_t)));
  code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0));
  Return(SECCOMP_RET_ALLOW);
  Return(kRefuse);
}

bool SystemCallRules::Install(Rest rest) {
  if (kIsSanitized) {
    return false;
  }
  Return(rest == Rest::kAllowed ? SECCOMP_RET_ALLOW : kRefuse);
  const sock_fprog filter{static_cast<unsigned short>(code_.size()), code_.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

}  // namespace ptrace_prof
