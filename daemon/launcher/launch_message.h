// What the daemon and its launcher say to each other: one packet of a SOCK_SEQPACKET socket is one message, a header of
// fixed size and what follows it.
// The daemon names peers by the launcher's numbers: it cannot claim that somebody connected.
// Pure functions. Whatever is decoded is checked: sizes, counts, and that an argument is a key, '=' and a plain value,
// so that none can be taken for anything else by the program that gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "daemon/launcher/caller_identity.h"
#include "daemon/launcher/peer_examination.h"
#include "daemon/launcher/target_look.h"

namespace ptrace_prof {

inline constexpr size_t kMaxLaunchArguments = 64;
inline constexpr size_t kMaxLaunchGroups = 4096;
inline constexpr size_t kMaxLaunchMessage = 120 * 1024;  // less than what the kernel takes as one argument
inline constexpr size_t kMaxLookedCgroup = 32 * 1024;
inline constexpr size_t kMaxLooked = kMaxLookedCgroup + 8 * 1024;  // a whole kLooked
inline constexpr size_t kLaunchDescriptors = 4;  // the stream's end, the control line's end, a pidfd, the report's end

// Each with who says it.
enum class LaunchKind : uint32_t {
  kStart = 1,  // daemon: for which peer, key=value arguments
  kKill,       // daemon: that collector
  kStarted,    // launcher, for kStart: its pid; four descriptors
  kFailed,     // launcher, for kStart: stage, errno
  kEnded,      // launcher, once for each kStarted: wait status, CPU time
  kPeer,       // launcher, on a socket of its own, the door: who connected; the connection
  kPeerGone,   // daemon: that one has left
  kLook,       // daemon: at which process
  kLooked,     // launcher, for kLook: what it is
  kVouch,      // daemon: a user that it may vouch for later
  kSealed      // daemon, once, before it serves anybody: those were all
};

// Where starting a collector failed.
enum class LaunchStage : uint32_t { kNone, kRequest, kResources, kIdentity, kProgram };

// What a started process says by its report where it cannot become the collector.
struct LaunchFailure {
  LaunchStage stage = LaunchStage::kNone;
  int error_number = 0;
};

struct LaunchHeader {
  LaunchKind kind = LaunchKind::kStart;
  LaunchStage stage = LaunchStage::kNone;  // kFailed
  uint64_t number = 0;                     // of this collector, chosen by the daemon
  uint64_t peer = 0;                       // kStart, kPeer, kPeerGone: its number, chosen by the launcher, or of a user
  int32_t pid = 0;                         // kStarted; kStart, kLook: of the target, 0: none; kPeer: of the peer
  int32_t status = 0;  // kEnded: as of wait(2); kFailed, kLooked: an errno; kVouch: 1: express; kPeer: 1: administrator
  PeerVerdict verdict = PeerVerdict::kKnown;  // kPeer, kVouch, as all below but the last two
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t groups = 0;     // that many 32-bit numbers follow
  uint32_t arguments = 0;  // kStart: that many strings follow, each with its terminating zero
  uint32_t cpu_ms = 0;     // kEnded: CPU time that it used, and its children
};
static_assert(sizeof(LaunchHeader) == 56, "no padding: it is compared and sent as bytes");

struct LaunchRequest {
  uint64_t number = 0;
  uint64_t peer = 0;
  Pid target;  // 0: none
  std::vector<std::string> arguments;
};

struct PeerMessage {
  uint64_t number = 0;
  ExaminedPeer peer;        // without capabilities, which are nobody else's business
  bool is_express = false;  // kVouch: root or nobody, who is meant only where that is said
};

// Users whom the daemon may vouch for have numbers of their own, that no connection gets.
constexpr uint64_t VouchedPeer(Uid uid) { return uint64_t{1} << 63 | uid.value; }

// kInvalidArgument: an argument that is none; kResourceExhausted: more than the bounds above.
Result<std::vector<std::byte>> EncodeLaunch(const LaunchRequest& request);
// The header of any message. kInvalidArgument: too short, or of no known kind.
Result<LaunchHeader> DecodeLaunchHeader(std::span<const std::byte> packet);
// A whole kStart.
Result<LaunchRequest> DecodeLaunch(std::span<const std::byte> packet);

// A whole kPeer or, if that is said, kVouch.
std::vector<std::byte> EncodePeer(const PeerMessage& message, LaunchKind kind = LaunchKind::kPeer);
Result<PeerMessage> DecodePeer(std::span<const std::byte> packet, LaunchKind kind = LaunchKind::kPeer);

std::vector<std::byte> EncodeLooked(uint64_t number, const TargetLook& look);
Result<TargetLook> DecodeLooked(std::span<const std::byte> packet);

}  // namespace ptrace_prof
