// The accounts of all users with captures: how many bytes of traces each has stored.
//
// Owned by the CaptureRegistry. Has no lock: every call is made under the registry's mutex. An account lives on in the
// captures that count in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "daemon/server/captures/spool_account.h"

namespace ptrace_prof {

class SpoolAccounts {
 public:
  // Creates it if there is none, and drops those without a capture.
  std::shared_ptr<SpoolAccount> Of(uint32_t uid) {
    std::erase_if(accounts_, [](const auto& known) { return known.second.use_count() == 1; });
    auto& account = accounts_[uid];
    if (account == nullptr) {
      account = std::make_shared<SpoolAccount>();
    }
    return account;
  }
  uint64_t UsedBy(uint32_t uid) const {
    const auto account = accounts_.find(uid);
    return account == accounts_.end() ? 0 : account->second->used();
  }

 private:
  std::map<uint32_t, std::shared_ptr<SpoolAccount>> accounts_;  // by user
};

}  // namespace ptrace_prof
