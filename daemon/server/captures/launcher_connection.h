// The daemon's end of the launcher's socket: sends requests; a thread of its own receives the answers.
//
// Owns the socket. If the launcher ends, running collectors go on to their end, because we hold their lines. We are
// their subreaper (prctl, set by the program), so we learn how they ended; no collector can be killed or started any
// more. Thread-safe. The destructor ends the launcher, and with it all collectors, and waits for it for a bounded time.
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

// The launcher's number of a connected peer; 0: a peer unknown to the launcher.
using PeerNumber = StrongId<struct PeerNumberTag, uint64_t>;

// A user for whom the daemon may vouch; root or the overflow user only if the policy says so expressly.
struct Vouching {
  CallerIdentity who;
  bool is_express = false;
};

class LauncherConnection {
 public:
  // A collector that the launcher started for us.
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

  // For a peer that the launcher let in (launcher_door.h). If the caller is root, the collector runs as the owner of
  // `target`; 0: no target. kUnavailable: the launcher has ended, or does not answer. Does not wait until the program
  // runs, which the calling user could delay, since the process belongs to that user.
  Result<Started> Start(PeerNumber peer, Pid target, const std::vector<std::string>& arguments);
  // Call once, before data of any client is read: only for these users can collectors be requested by VouchedPeer.
  // kUnavailable: the launcher has ended.
  Result<void> Vouch(const std::vector<Vouching>& users);
  // Describes a process. kGone: it has ended, or there is none; kUnavailable: as Start.
  Result<TargetFacts> Look(Pid target);
  // The peer has disconnected: nothing can be started for it any more.
  void ForgetPeer(PeerNumber peer);
  // After the end: why the collector's program never ran. kPermissionDenied: it may not become that user.
  static std::optional<Error> WhyNotStarted(const Started& collector);
  void Kill(const Started& collector);
  // The wait(2) status once it has ended; 0 if the status is lost.
  std::optional<int> Wait(const Started& collector, Nanos timeout);
  // The CPU time of an ended collector; 0: not known.
  Nanos CpuOf(const Started& collector) const;
  // No further call names this collector.
  void Forget(const Started& collector);

  bool is_up() const;
  // A pidfd of the launcher, for poll(2). Not open: the launcher has ended already.
  UniqueFd OpenPidfd() const;

 private:
  explicit LauncherConnection(LauncherProcess launcher) : launcher_(std::move(launcher)) {}
  struct Slot {
    std::optional<LaunchHeader> answer;
    Started started;                // kStarted
    std::vector<std::byte> packet;  // kLooked: the whole packet
    std::optional<int> status;
    Nanos cpu;  // set once there is a status
  };

  void Receive();
  bool TakeMessage();
  void TakeAnswer(const LaunchHeader& header, std::span<const std::byte> packet, std::span<UniqueFd> descriptors);
  uint64_t TakeNumber();
  // If there is an answer, the slot still exists on return.
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
