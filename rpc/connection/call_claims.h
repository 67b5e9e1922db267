// The claims in a call's metadata, and the method that is called. Other code decides which claims to believe. Pure
// data.
#pragma once

#include <string>

namespace ptrace_prof {

// The metadata key of the user that a caller wants to be served as, if it may act for several.
inline constexpr char kUserMetadata[] = "ptrace-prof-user";

struct CallClaims {
  std::string user = {};           // empty: not sent
  std::string authorization = {};  // empty: not sent, or sent more than once, which counts as not sent
  std::string method = {};         // the called method: "/ptraceprof.v1.NodeService/GetNode"
};

}  // namespace ptrace_prof
