// Who knocks at the daemon's socket, until it is let in: taken off the kernel's queue at once, so that whoever knocks
// and leaves in a loop fills it for nobody. Who has left again is dropped without a look. The others come user by user
// in turn, root first; a user other than root that begins many connections waits between them.
//
// Knows no more of a connection than the user at its other end. One thread.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <optional>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class Arrivals {
 public:
  Arrivals();

  // Some of who knocks. What a user has no place for any more is closed.
  void Take(int listening, Nanos now);
  // Whose turn it is; not open: nobody's.
  UniqueFd Next(Nanos now);
  // When it will be somebody's; nullopt: nobody waits.
  std::optional<Nanos> NextTurn() const;

 private:
  struct User {
    std::deque<UniqueFd> waiting;
    Nanos used_up_until;  // after which its next connection is as its first
    Nanos next_look;      // for those among them who have left
  };

  void Sort(UniqueFd connection, Nanos now);
  void ForgetQuiet(Nanos now);
  std::map<uid_t, User>::iterator WhoseTurn(Nanos now);
  static Nanos TurnOf(uid_t uid, const User& user);

  size_t most_waiting_;
  std::map<uid_t, User> users_;
  uid_t last_ = 0;  // whose turn it was
};

}  // namespace ptrace_prof
