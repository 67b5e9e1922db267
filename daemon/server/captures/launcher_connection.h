// The daemon's end of the launcher's socket: requests go out, a thread of its own takes what comes back.
//
// Owns the socket. When the launcher is gone, collectors that run go on to their end: their lines are ours already. As
// their subreaper (prctl, set by the program) we then learn how they ended; nobody can be killed or started any more.
// Thread-safe. The destructor ends the launcher, and with it all collectors, and waits for it a bounded time.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "daemon/launcher/launch_message.h"
#include "daemon/launcher/launcher_process.h"
#include "daemon/server/policy/target_facts.h"

namespace ptrace_prof {

// The launcher's number of somebody who is connected; 0: of nobody that it knows.
using PeerNumber = StrongId<struct PeerNumberTag, uint64_t>;

// A user for whom the daemon may speak; root or nobody only where the policy says that expressly.
struct Vouching {
  CallerIdentity who;
  bool is_express = false;
};

class LauncherConnection {
 public:
  // What the launcher made for us.
  struct Started {
    uint64_t number = 0;
    Pid pid;
    UniqueFd stream;
    UniqueFd control;
    UniqueFd pidfd;
    UniqueFd report;
  };

  static Result<std::shared_ptr<LauncherConnection>> Open(LauncherProcess launcher);
  ~LauncherConnection();

  // For a peer that the launcher let in (launcher_door.h). `target`: whose owner it shall rather be where the caller is
  // root; 0: nobody's. kUnavailable: the launcher has ended, or does not answer. Does not wait for the program to run
  // in it: that could be drawn out by the user who asked, whose process it is.
  Result<Started> Start(PeerNumber peer, Pid target, const std::vector<std::string>& arguments);
  // Tells it, once, before anything is read of anybody: for these users, and no others, a collector can be asked for by
  // VouchedPeer. kUnavailable: the launcher has ended.
  Result<void> Vouch(const std::vector<Vouching>& users);
  // What that process is. kGone: it has ended, or there is none; kUnavailable: as Start.
  Result<TargetFacts> Look(Pid target);
  // That peer is gone: nothing can be started for it any more.
  void ForgetPeer(PeerNumber peer);
  // Of one that has ended: why its program never ran. kPermissionDenied: it may not become that user.
  static std::optional<Error> WhyNotStarted(const Started& collector);
  void Kill(const Started& collector);
  // Its wait(2) status once it has ended: 0 where nobody can know it any more.
  std::optional<int> Wait(const Started& collector, Nanos timeout);
  // The CPU time of one that has ended; 0: not known.
  Nanos CpuOf(const Started& collector) const;
  // No further question about this collector.
  void Forget(const Started& collector);

  bool is_up() const;
  // To wait for its end by poll(2). Not open: it has ended already.
  UniqueFd OpenPidfd() const;

 private:
  explicit LauncherConnection(LauncherProcess launcher) : launcher_(std::move(launcher)) {}
  struct Slot {
    std::optional<LaunchHeader> answer;
    Started started;                // kStarted
    std::vector<std::byte> packet;  // kLooked: the whole of it
    std::optional<int> status;
    Nanos cpu;  // once there is a status
  };

  void Receive();
  bool TakeMessage();
  void TakeAnswer(const LaunchHeader& header, std::span<const std::byte> packet, std::span<UniqueFd> descriptors);
  uint64_t TakeNumber();
  // The slot is there yet if there is an answer.
  Result<LaunchHeader> Ask(uint64_t number, std::span<const std::byte> packet);
  bool Send(std::span<const std::byte> packet);
  std::optional<int> WaitAlone(const Started& collector, Nanos timeout);

  const LauncherProcess launcher_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Slot> slots_;
  uint64_t next_number_ = 1;
  bool up_ = true;
  std::thread thread_;
};

}  // namespace ptrace_prof
