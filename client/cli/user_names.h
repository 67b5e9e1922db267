// Names of users, each looked up once. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

class UserNames {
 public:
  // The number as text if there is no name.
  const std::string& Of(Uid uid);
  // Parses a name or a number.
  static std::optional<Uid> Find(const std::string& user);

 private:
  std::map<Uid, std::string> names_;
};

}  // namespace ptrace_prof
