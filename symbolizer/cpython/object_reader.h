// Bounded readers of Python objects in a target: str, bytes, int, tuple, dict, and a short repr for locals.
//
// Stateless apart from the references. Every length is capped, every chain is walked with a limit, and all data are
// untrusted. After a fault or invalid data the functions return nullopt (the caller decides what to show).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

inline constexpr size_t kMaxStringBytes = 64 * 1024;

class ObjectReader {
 public:
  ObjectReader(RemoteMemory& memory, const Layout& layout) : memory_(memory), layout_(layout) {}

  // UTF-8, cut at `max_bytes` (whole characters). Lone surrogates become U+FFFD.
  std::optional<std::string> ReadString(RemoteAddr object, size_t max_bytes = kMaxStringBytes);
  // nullopt if it is longer.
  std::optional<std::vector<uint8_t>> ReadBytes(RemoteAddr object, size_t max_bytes);
  // The first max_items items.
  std::optional<std::vector<RemoteAddr>> ReadTuple(RemoteAddr object, size_t max_items);
  std::optional<std::vector<RemoteAddr>> ReadList(RemoteAddr object, size_t max_items);
  std::optional<int64_t> ReadInt(RemoteAddr object);  // nullopt if it does not fit
  std::optional<std::string> ReadTypeName(RemoteAddr object);
  std::optional<std::string> ReadNameOfType(RemoteAddr type);
  // A C string, cut at `max_bytes`.
  std::optional<std::string> ReadCText(RemoteAddr from, size_t max_bytes);
  // Calls `visit(key, value)` for each item of a dict, combined or split, until it returns false. At most max_items.
  bool VisitDict(RemoteAddr object, size_t max_items, const std::function<bool(RemoteAddr, RemoteAddr)>& visit);
  // The attributes of an instance: inline values, materialised dict, or __dict__ slot.
  bool VisitAttributes(RemoteAddr object, size_t max_items, const std::function<bool(RemoteAddr, RemoteAddr)>& visit);
  // "42", "'text'", "[1, 2, ...]", "<Tensor at 0x7f…>"; at most max_chars.
  std::string Repr(RemoteAddr object, size_t max_chars);

 private:
  friend class ReprWriter;
  std::optional<std::vector<RemoteAddr>> ReadPointers(RemoteAddr from, size_t count);

  RemoteMemory& memory_;
  const Layout& layout_;
};

}  // namespace ptrace_prof
