// Connections to the daemon's socket between accept and admission.
// They are taken off the kernel's queue at once, so a user that connects and disconnects in a loop cannot keep it full.
// Connections whose peer has left are dropped. The others are handed out user by user in turn, root first; a user other
// than root that opens many connections waits between them.
//
// Reads only the user ID of a peer. Use it from one thread.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <optional>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

inline constexpr int kNoDescriptorPauseMs = 20;  // connections stay in the kernel's queue meanwhile

class Arrivals {
 public:
  Arrivals();

  // Accepts some of the connections that wait. A connection of a user with too many waiting ones is closed.
  void Take(int listening, Nanos now);
  // The next connection; not open if none is due.
  UniqueFd Next(Nanos now);
  // When the next connection is due; nullopt if none waits.
  std::optional<Nanos> NextTurn() const;

 private:
  struct User {
    std::deque<UniqueFd> waiting;
    Nanos used_up_until;  // from then on the user counts as new
    Nanos next_look;      // when connections whose peer has left are next removed from `waiting`
  };

  void Sort(UniqueFd connection, Nanos now);
  void ForgetQuiet(Nanos now);
  std::map<uid_t, User>::iterator WhoseTurn(Nanos now);
  static Nanos TurnOf(uid_t uid, const User& user);

  size_t most_waiting_;
  std::map<uid_t, User> users_;
  uid_t last_ = 0;  // the user served last
};

}  // namespace ptrace_prof
