#include "daemon/server/captures/excess_traces.h"

#include <algorithm>
#include <deque>
#include <map>

namespace ptrace_prof {
namespace {

struct OfUser {
  uint64_t bytes = 0;
  std::deque<size_t> oldest_first;
};

}  // namespace

std::vector<ExcessTrace> FindExcessTraces(std::span<const KeptTrace> oldest_first, size_t most_of_a_user,
                                          uint64_t most_bytes) {
  uint64_t bytes = 0;
  std::map<uint32_t, OfUser> users;
  for (size_t i = 0; i < oldest_first.size(); ++i) {
    OfUser& user = users[oldest_first[i].owner_uid];
    user.oldest_first.push_back(i);
    user.bytes += oldest_first[i].bytes;
    bytes += oldest_first[i].bytes;
  }
  std::vector<ExcessTrace> excess;
  const auto take_oldest = [&](OfUser& user, std::string_view why) {
    const size_t index = user.oldest_first.front();
    excess.push_back({index, why});
    user.oldest_first.pop_front();
    user.bytes -= oldest_first[index].bytes;
    bytes -= oldest_first[index].bytes;
  };
  for (auto& [uid, user] : users) {
    while (user.oldest_first.size() > most_of_a_user) {
      take_oldest(user, "count");
    }
  }
  while (most_bytes != 0 && bytes > most_bytes) {
    const auto largest = std::max_element(users.begin(), users.end(),
                                          [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    take_oldest(largest->second, "bytes");
  }
  return excess;
}

}  // namespace ptrace_prof
