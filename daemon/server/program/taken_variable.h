// A variable that the service manager set for this process alone. Children must not inherit it.
#pragma once

#include <cstdlib>
#include <string>

namespace ptrace_prof {

// The value, which leaves the environment; empty if it is not set.
inline std::string TakeVariable(const char* name) {
  const char* value = ::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

}  // namespace ptrace_prof
