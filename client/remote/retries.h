// When to try again what failed because the way to the server broke, and when to give up: after 0.2 s, then after twice
// as long each time, five times in a row. One object per row of tries; single-threaded.
#pragma once

#include <optional>
#include <string>

#include "attach/base/types.h"

namespace grpc {
class Status;
}

namespace ptrace_prof {

class Retries {
 public:
  // The pause before the next try; nothing: it is time to give up.
  std::optional<Nanos> Next() {
    return failures_ == kMost ? std::nullopt : std::optional(Nanos(kFirst.value << failures_++));
  }
  void Succeeded() { failures_ = 0; }

 private:
  static constexpr int kMost = 5;
  static constexpr Nanos kFirst = Nanos::FromMillis(200);
  int failures_ = 0;
};

// The connection broke, or nobody answers: said by gRPC, not by a service of ours.
bool IsOfTheWay(const grpc::Status& status);
// What the system said about it, without what gRPC says around it.
std::string ReasonOfTheWay(const grpc::Status& status);

}  // namespace ptrace_prof
