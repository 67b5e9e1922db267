#include "rpc/messages/idle_policy_message.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

struct Row {
  v1::IdlePolicy message;
  IdlePolicy policy;
};
// The first row of a policy is how it is written.
constexpr Row kRows[] = {{v1::IDLE_POLICY_MAIN, IdlePolicy::kMain},
                         {v1::IDLE_POLICY_ALL, IdlePolicy::kAll},
                         {v1::IDLE_POLICY_NONE, IdlePolicy::kNone},
                         {v1::IDLE_POLICY_UNSPECIFIED, IdlePolicy::kMain}};

}  // namespace

v1::IdlePolicy ToMessage(IdlePolicy policy) {
  for (const Row& row : kRows) {
    if (row.policy == policy) {
      return row.message;
    }
  }
  return v1::IDLE_POLICY_UNSPECIFIED;
}

std::optional<IdlePolicy> FromMessage(v1::IdlePolicy message) {
  for (const Row& row : kRows) {
    if (row.message == message) {
      return row.policy;
    }
  }
  return std::nullopt;
}

}  // namespace ptrace_prof
