// A request for a capture that is to be in the registry's list. Plain data.
#pragma once

#include <string>

#include "daemon/server/captures/capture_facts.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

struct CaptureCreation {
  std::string id;          // empty: the registry chooses one
  std::string request_id;  // empty: none
  CaptureUser owner = {};
  CaptureTask request;
};

}  // namespace ptrace_prof
