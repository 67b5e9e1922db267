// Receives events of a registry that no call returns.
//
// Called under the registry's lock, so it must not call the registry. `on_end` is called on the capture's thread
// without that lock, also for captures that are in no list.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

// A capture whose trace was deleted without a request.
struct ForgottenCapture {
  std::string id;
  uint32_t owner_uid = 0;
  uint64_t bytes = 0;
  std::string_view why;  // "age", "bytes" or "count"
};

struct RegistryListener {
  std::function<void(const ForgottenCapture&)> on_forgotten = [](const ForgottenCapture&) {};
  std::function<void(const Error&)> on_trouble = [](const Error&) {};
  CaptureEnded on_end = nullptr;
};

}  // namespace ptrace_prof
