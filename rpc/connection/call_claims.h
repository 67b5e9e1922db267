// What a call says of itself beside its message, and which it is. Whoever is believed in it decides elsewhere. Pure
// data.
#pragma once

#include <string>

namespace ptrace_prof {

// Of the metadata: as whom somebody wants to be served who may speak for several.
inline constexpr char kUserMetadata[] = "ptrace-prof-user";

struct CallClaims {
  std::string user = {};           // empty: not said
  std::string authorization = {};  // empty: not said, or more than once, which says nothing
  std::string method = {};         // that is called: "/ptraceprof.v1.NodeService/GetNode"
};

}  // namespace ptrace_prof
