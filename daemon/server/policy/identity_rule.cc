#include "daemon/server/policy/identity_rule.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr std::string_view kAny = "*";

}  // namespace

bool IdentityRule::Fits(std::string_view common_name, const std::vector<std::string>& certificate_uris) const {
  const bool name_fits = common_names.empty() || std::ranges::any_of(common_names, [&](const std::string& wanted) {
                           return wanted == kAny || (!common_name.empty() && wanted == common_name);
                         });
  const bool uri_fits = uris.empty() || std::ranges::any_of(uris, [&](const std::string& wanted) {
                          return std::ranges::find(certificate_uris, wanted) != certificate_uris.end();
                        });
  return name_fits && uri_fits;
}

const LocalUser* IdentityRule::FindUser(std::string_view wanted) const {
  const auto found = std::ranges::find_if(users, [&](const LocalUser& user) {
    return (!user.name.empty() && user.name == wanted) || std::to_string(user.uid.value) == wanted;
  });
  return found == users.end() ? nullptr : &*found;
}

const LocalUser* IdentityRule::FindUser(Uid wanted) const {
  const auto found = std::ranges::find(users, wanted, &LocalUser::uid);
  return found == users.end() ? nullptr : &*found;
}

}  // namespace ptrace_prof
