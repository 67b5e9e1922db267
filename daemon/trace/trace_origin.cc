#include "daemon/trace/trace_origin.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "daemon/trace/id_index.h"

namespace ptrace_prof {
namespace {

Nanos ReadClock(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return Nanos(static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec);
}

// FNV-1a, then mixed. The result must be the same on all machines and in all versions, unlike that of std::hash.
uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return MixBits(hash);
}

uint64_t Combine(uint64_t seed, uint64_t value) { return MixBits(seed * 31 + MixBits(value + 1)); }

}  // namespace

TraceOrigin TraceOrigin::Here() {
  TraceOrigin origin;
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");
  std::getline(boot_id, origin.boot_id);
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) {
    origin.host = host;
  }
  struct stat file {};
  if (stat("/proc/self/ns/pid", &file) == 0) {
    origin.pid_namespace = file.st_ino;
  }
  origin.monotonic = ReadClock(CLOCK_MONOTONIC);
  origin.boottime = ReadClock(CLOCK_BOOTTIME);
  origin.realtime = ReadClock(CLOCK_REALTIME);
  return origin;
}

uint64_t ProcessTrackUuid(const TraceOrigin& origin, Pid pid, Nanos start_time) {
  const uint64_t host = StableHash(origin.boot_id);
  return Combine(Combine(host, static_cast<uint64_t>(pid.value)), static_cast<uint64_t>(start_time.value));
}

uint64_t ThreadTrackUuid(uint64_t process_uuid, Tid tid) {
  return Combine(process_uuid, static_cast<uint64_t>(tid.value));
}

uint64_t StateTrackUuid(const TraceOrigin& origin, uint64_t thread_uuid) {
  return Combine(thread_uuid, static_cast<uint64_t>(origin.monotonic.value));
}

uint32_t FirstSequenceId(const TraceOrigin& origin, Pid collector) {
  uint64_t hash = Combine(StableHash(origin.boot_id), static_cast<uint64_t>(collector.value));
  hash = Combine(hash, static_cast<uint64_t>(origin.monotonic.value));
  return (static_cast<uint32_t>(hash) & kSequenceIdMask) | kLongSequenceId;
}

uint32_t ShortSequenceIds(const TraceOrigin& origin, Pid collector) {
  constexpr uint32_t kCollectors = 1u << 14;
  const auto where = static_cast<uint32_t>(Combine(StableHash(origin.boot_id), origin.pid_namespace));
  const uint32_t which = (where + static_cast<uint32_t>(collector.value)) % kCollectors;
  return which * (kShortSequenceIds + 1);
}

}  // namespace ptrace_prof
