#include "client/cli/user_names.h"

#include <pwd.h>

#include <array>
#include <charconv>

namespace ptrace_prof {

const std::string& UserNames::Of(Uid uid) {
  const auto [entry, added] = names_.try_emplace(uid);
  if (added) {
    std::array<char, 4096> buffer{};
    passwd user{};
    passwd* found = nullptr;
    const bool known = ::getpwuid_r(uid.value, &user, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
    entry->second = known ? found->pw_name : std::to_string(uid.value);
  }
  return entry->second;
}

std::optional<Uid> UserNames::Find(const std::string& user) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return Uid(found->pw_uid);
  }
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
  return error == std::errc() && end == user.data() + user.size() && !user.empty() ? std::optional(Uid(number))
                                                                                   : std::nullopt;
}

}  // namespace ptrace_prof
