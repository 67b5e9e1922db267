// Strong types for the numbers that must not be mixed up: process and thread ids, addresses in another
// process, and time.
//
// Raw integers do not cross function boundaries in this project (CONTRIBUTING.md, rule 8). A StrongId costs no more
// than the integer inside it. Arithmetic exists only where it is meaningful.
// Thread-safe: plain values. Does not depend on the source of the numbers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ptrace_prof {

template <typename Tag, typename Rep>
struct StrongId {
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;
};

using Pid = StrongId<struct PidTag, int32_t>;   // thread-group id in the reader's PID namespace
using Tid = StrongId<struct TidTag, int32_t>;   // kernel thread id in the reader's PID namespace
using Uid = StrongId<struct UidTag, uint32_t>;  // user id in the reader's user namespace
using Gid = StrongId<struct GidTag, uint32_t>;

// An address in the memory of the target. Code cannot dereference it by accident.
struct RemoteAddr {
  uint64_t value = 0;

  constexpr RemoteAddr() = default;
  constexpr explicit RemoteAddr(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const RemoteAddr&) const = default;
  constexpr bool IsNull() const { return value == 0; }
  constexpr RemoteAddr operator+(uint64_t offset) const { return RemoteAddr(value + offset); }
  constexpr RemoteAddr operator-(uint64_t offset) const { return RemoteAddr(value - offset); }
  constexpr uint64_t operator-(RemoteAddr other) const { return value - other.value; }
};

// A time or a duration in nanoseconds. Points in time are CLOCK_MONOTONIC unless a name says otherwise.
struct Nanos {
  int64_t value = 0;

  constexpr Nanos() = default;
  constexpr explicit Nanos(int64_t v) : value(v) {}
  constexpr auto operator<=>(const Nanos&) const = default;
  constexpr Nanos operator+(Nanos o) const { return Nanos(value + o.value); }
  constexpr Nanos operator-(Nanos o) const { return Nanos(value - o.value); }
  constexpr double seconds() const { return static_cast<double>(value) / 1e9; }
  static constexpr Nanos FromSeconds(double s) { return Nanos(static_cast<int64_t>(s * 1e9)); }
  static constexpr Nanos FromMillis(int64_t ms) { return Nanos(ms * 1'000'000); }
};

// Now on CLOCK_MONOTONIC: the clock of every timestamp in a trace.
Nanos MonotonicNow();
// CPU time that this process has used so far (user and system, all threads).
Nanos OwnCpuTime();

}  // namespace ptrace_prof

template <typename Tag, typename Rep>
struct std::hash<ptrace_prof::StrongId<Tag, Rep>> {
  size_t operator()(ptrace_prof::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};

template <>
struct std::hash<ptrace_prof::RemoteAddr> {
  size_t operator()(ptrace_prof::RemoteAddr a) const noexcept { return std::hash<uint64_t>{}(a.value); }
};
