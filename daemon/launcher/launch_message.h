// The messages between the daemon and its launcher. One packet of a SOCK_SEQPACKET socket is one message: a header of
// fixed size and its payload.
// The daemon names peers by the launcher's numbers, so it cannot invent a connection.
// Pure functions. Every decoded field is checked: sizes, counts, and that an argument is a key, '=' and a plain value.
// So the collector's program cannot take an argument for anything else.
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
inline constexpr size_t kMaxLaunchMessage = 120 * 1024;  // less than the kernel's limit for one argument
inline constexpr size_t kMaxLookedCgroup = 32 * 1024;
inline constexpr size_t kMaxLooked = kMaxLookedCgroup + 8 * 1024;  // a whole kLooked
inline constexpr size_t kLaunchDescriptors = 4;  // the ends of the stream, the control line and the report, and a pidfd

// Each comment names the sender.
enum class LaunchKind : uint32_t {
  kStart = 1,  // daemon: a peer and key=value arguments
  kKill,       // daemon: a collector to kill
  kStarted,    // launcher, answers kStart: the pid; four descriptors
  kFailed,     // launcher, answers kStart: stage, errno
  kEnded,      // launcher, once for each kStarted: wait status, CPU time
  kPeer,       // launcher, on a socket of its own (the door): a new peer; its connection
  kPeerGone,   // daemon: a peer has disconnected
  kLook,       // daemon: a process to describe
  kLooked,     // launcher, answers kLook: the description
  kVouch,      // daemon: a user for which it may later request collectors
  kSealed      // daemon, once, before it serves any client: no kVouch follows
};

// The step at which the start of a collector failed.
enum class LaunchStage : uint32_t { kNone, kRequest, kResources, kIdentity, kProgram };

// The report of a forked process that could not become the collector.
struct LaunchFailure {
  LaunchStage stage = LaunchStage::kNone;
  int error_number = 0;
};

struct LaunchHeader {
  LaunchKind kind = LaunchKind::kStart;
  LaunchStage stage = LaunchStage::kNone;  // kFailed
  uint64_t number = 0;                     // of this collector, chosen by the daemon
  uint64_t peer = 0;   // kStart, kPeer, kPeerGone: chosen by the launcher, or VouchedPeer() of a user
  int32_t pid = 0;     // kStarted: of the collector; kStart, kLook: of the target, 0: none; kPeer: of the peer
  int32_t status = 0;  // kEnded: as of wait(2); kFailed, kLooked: an errno; kVouch: 1: express; kPeer: 1: administrator
  PeerVerdict verdict = PeerVerdict::kKnown;  // kPeer, kVouch, like all fields below except the last two
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t groups = 0;     // that many 32-bit group IDs follow
  uint32_t arguments = 0;  // kStart: that many zero-terminated strings follow
  uint32_t cpu_ms = 0;     // kEnded: CPU time of the collector and its children
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
  ExaminedPeer peer;        // without capabilities: the daemon does not need them
  bool is_express = false;  // kVouch: the policy names this user, which is root or the overflow user, expressly
};

// Users for whom the daemon may vouch have numbers that no connection gets.
constexpr uint64_t VouchedPeer(Uid uid) { return uint64_t{1} << 63 | uid.value; }

// kInvalidArgument: not a key=value argument; kResourceExhausted: more than the limits above.
Result<std::vector<std::byte>> EncodeLaunch(const LaunchRequest& request);
// Decodes the header of any message. kInvalidArgument: too short, or of an unknown kind.
Result<LaunchHeader> DecodeLaunchHeader(std::span<const std::byte> packet);
// Decodes a whole kStart.
Result<LaunchRequest> DecodeLaunch(std::span<const std::byte> packet);

// Encodes or decodes a whole kPeer, or a kVouch if `kind` says so.
std::vector<std::byte> EncodePeer(const PeerMessage& message, LaunchKind kind = LaunchKind::kPeer);
Result<PeerMessage> DecodePeer(std::span<const std::byte> packet, LaunchKind kind = LaunchKind::kPeer);

std::vector<std::byte> EncodeLooked(uint64_t number, const TargetLook& look);
Result<TargetLook> DecodeLooked(std::span<const std::byte> packet);

}  // namespace ptrace_prof
