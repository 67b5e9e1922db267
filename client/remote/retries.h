// Decides when to retry after the connection to the server broke, and when to give up: after 0.2 s, then twice as long
// each time, five times in a row. One object per series of tries; single-threaded.
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
  // The pause before the next try; nothing: give up.
  std::optional<Nanos> Next() {
    return failures_ == kMost ? std::nullopt : std::optional(Nanos(kFirst.value << failures_++));
  }
  void Succeeded() { failures_ = 0; }

 private:
  static constexpr int kMost = 5;
  static constexpr Nanos kFirst = Nanos::FromMillis(200);
  int failures_ = 0;
};

// Whether gRPC itself reports a broken connection or a server that does not answer, and not one of our services.
bool IsOfTheWay(const grpc::Status& status);
// The system's own words in gRPC's message.
std::string ReasonOfTheWay(const grpc::Status& status);

}  // namespace ptrace_prof
