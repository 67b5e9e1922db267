// What the daemon and its launcher say to each other: one packet of a SOCK_SEQPACKET socket is one message, a header of
// fixed size and, for kStart, what follows it.
//
//   daemon ── kStart (whom to become, key=value arguments) ──► launcher ── kStarted (pid; three descriptors) ──► daemon
//                                                                     └── kFailed (stage, errno)
//   daemon ── kKill ──► launcher                                launcher ── kEnded (wait status), once per kStarted ──►
//   daemon
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

namespace ptrace_prof {

inline constexpr size_t kMaxLaunchArguments = 64;
inline constexpr size_t kMaxLaunchGroups = 4096;
inline constexpr size_t kMaxLaunchMessage = 120 * 1024;  // less than what the kernel takes as one argument
inline constexpr size_t kLaunchDescriptors = 3;          // the stream's end, the control line's end, a pidfd

enum class LaunchKind : uint32_t { kStart = 1, kKill, kStarted, kFailed, kEnded };

// Where starting a collector failed.
enum class LaunchStage : uint32_t { kNone, kRequest, kResources, kIdentity, kProgram };

struct LaunchHeader {
  LaunchKind kind = LaunchKind::kStart;
  LaunchStage stage = LaunchStage::kNone;  // kFailed
  uint64_t number = 0;                     // of this collector, chosen by the daemon
  int32_t pid = 0;                         // kStarted
  int32_t status = 0;                      // kEnded: as of wait(2); kFailed: an errno
  uint32_t uid = 0;                        // kStart, as all below
  uint32_t gid = 0;
  uint32_t groups = 0;     // that many 32-bit numbers follow
  uint32_t arguments = 0;  // that many strings follow, each with its terminating zero
};
static_assert(sizeof(LaunchHeader) == 40, "no padding: it is compared and sent as bytes");

struct LaunchRequest {
  uint64_t number = 0;
  CallerIdentity caller;
  std::vector<std::string> arguments;
};

// kInvalidArgument: an argument that is none; kResourceExhausted: more than the bounds above.
Result<std::vector<std::byte>> EncodeLaunch(const LaunchRequest& request);
// The header of any message. kInvalidArgument: too short, or of no known kind.
Result<LaunchHeader> DecodeLaunchHeader(std::span<const std::byte> packet);
// A whole kStart.
Result<LaunchRequest> DecodeLaunch(std::span<const std::byte> packet);

}  // namespace ptrace_prof
