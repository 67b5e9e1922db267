// Limits the memory of answers that clients have not read yet, for each user and for all users together.
//
// A client that asks and does not read makes the daemon keep the answer. The writer of an answer takes a share before
// the write and holds it until the write is done. A large answer needs room in the total; a small one needs room only
// in its user's limit. So other users' unread answers never block a small answer. Owned by the CallResources.
// Thread-safe; outlives the shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace ptrace_prof {

class UnsentBytes {
 public:
  struct Bounds {
    uint64_t per_user = uint64_t{128} << 20;
    uint64_t total = uint64_t{384} << 20;
    uint64_t small = uint64_t{64} << 10;
  };

  class Share {
   public:
    Share() = default;
    Share(UnsentBytes& of, uint32_t user, uint64_t bytes) : of_(&of), user_(user), bytes_(bytes) {}
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(user_, other.user_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (of_ != nullptr) {
        of_->GiveBack(user_, bytes_);
      }
    }

   private:
    UnsentBytes* of_ = nullptr;
    uint32_t user_ = 0;
    uint64_t bytes_ = 0;
  };

  explicit UnsentBytes(Bounds bounds) : bounds_(bounds) {}

  // Reserves memory for a message of that size; nothing if there is no room now.
  std::optional<Share> Take(uint32_t user, size_t message) {
    const uint64_t bytes = uint64_t{message} * 2;  // the message and its serialised form
    const std::lock_guard lock(mutex_);
    const auto known = users_.find(user);
    const uint64_t of_user = known == users_.end() ? 0 : known->second;
    const bool is_small = message <= bounds_.small;
    if (of_user + bytes > bounds_.per_user || (!is_small && total_ + bytes > bounds_.total)) {
      return std::nullopt;
    }
    if (bytes == 0) {
      return Share();  // `users_` contains only users with bytes
    }
    users_[user] = of_user + bytes;
    total_ += bytes;
    return Share(*this, user, bytes);
  }

  // Held while a large answer is built, which takes several times its size: only one at a time.
  std::mutex& making() { return making_; }

 private:
  void GiveBack(uint32_t user, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    total_ -= bytes;
    const auto found = users_.find(user);
    found->second -= bytes;
    if (found->second == 0) {
      users_.erase(found);
    }
  }

  const Bounds bounds_;
  std::mutex mutex_;
  std::mutex making_;
  std::map<uint32_t, uint64_t> users_;
  uint64_t total_ = 0;
};

}  // namespace ptrace_prof
