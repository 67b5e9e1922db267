// The dict part of ObjectReader: combined and split dicts, and the attributes of instances in the four forms that
// CPython has used since 3.8. (CPython: Objects/dictobject.c, Include/internal/pycore_dict.h and pycore_object.h.)
#include <algorithm>
#include <cstring>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

using Visitor = std::function<bool(RemoteAddr, RemoteAddr)>;

constexpr uint64_t kManagedDictFlag = 1 << 4;   // Py_TPFLAGS_MANAGED_DICT, 3.11+
constexpr uint64_t kInlineValuesFlag = 1 << 2;  // Py_TPFLAGS_INLINE_VALUES, 3.13+
constexpr uint64_t kMaxEntries = 1 << 20;       // limit of entries read per dict, used or not
constexpr uint64_t kMaxLog2 = 40;

struct Keys {
  RemoteAddr entries;
  uint64_t count = 0;
  unsigned entry_words = 3;  // {hash, key, value} or {key, value}
};

template <typename T>
T ReadOr(RemoteMemory& memory, RemoteAddr from, T fallback) {
  T value{};
  return memory.ReadValue(from, &value) == ReadStatus::kOk ? value : fallback;
}

// 3.8–3.10: the width of an index entry follows from their number.
uint64_t IndexBytesOf(uint64_t size) {
  const uint64_t width = size <= 0xFF ? 1 : size <= 0xFFFF ? 2 : size <= 0xFFFFFFFF ? 4 : 8;
  return size * width;
}

std::optional<Keys> ReadKeys(RemoteMemory& memory, const Layout& layout, RemoteAddr address) {
  Keys keys;
  if (memory.ReadValue(address + layout.keys_entry_count, &keys.count) != ReadStatus::kOk) {
    return std::nullopt;
  }
  uint64_t index_bytes = 0;
  if (layout.Has(&Layout::keys_log2_index_bytes)) {
    const auto log2 = ReadOr<uint8_t>(memory, address + layout.keys_log2_index_bytes, 0xFF);
    if (log2 > kMaxLog2) {
      return std::nullopt;
    }
    index_bytes = uint64_t{1} << log2;
    keys.entry_words = ReadOr<uint8_t>(memory, address + layout.keys_kind, 0) == 0 ? 3 : 2;
  } else {
    const auto size = ReadOr<uint64_t>(memory, address + layout.keys_size, UINT64_MAX);
    if (size > uint64_t{1} << kMaxLog2) {
      return std::nullopt;
    }
    index_bytes = IndexBytesOf(size);
  }
  keys.entries = address + layout.keys_indices + index_bytes;
  keys.count = std::min(keys.count, kMaxEntries);
  return keys;
}

// Visits entries in chunks; the values are in the entries, or (in a split dict) at `values`.
bool VisitKeys(RemoteMemory& memory, const Keys& keys, RemoteAddr values, size_t max_items, const Visitor& visit) {
  constexpr uint64_t kChunk = 64;
  uint64_t words[kChunk * 3];
  uint64_t split[kChunk];
  size_t visited = 0;
  // A table has fewer unused entries than used ones, except in a hostile target.
  const uint64_t entries = std::min<uint64_t>(keys.count, 1024 + 16 * std::min<uint64_t>(max_items, kMaxEntries));
  for (uint64_t at = 0; at < entries; at += kChunk) {
    const uint64_t count = std::min(kChunk, entries - at);
    const uint64_t entry_size = keys.entry_words * sizeof(uint64_t);
    if (memory.Read(keys.entries + at * entry_size, words, count * entry_size) != ReadStatus::kOk) {
      return false;
    }
    if (!values.IsNull() &&
        memory.Read(values + at * sizeof(uint64_t), split, count * sizeof(uint64_t)) != ReadStatus::kOk) {
      return false;
    }
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t* entry = words + (i + 1) * keys.entry_words;  // end of the entry: key and value are its last words
      const RemoteAddr key(entry[-2]);
      const RemoteAddr value(values.IsNull() ? entry[-1] : split[i]);
      if (key.IsNull() || value.IsNull()) {
        continue;  // deleted, or not set in this instance
      }
      if (visited++ == max_items || !visit(key, value)) {
        return true;
      }
    }
  }
  return true;
}

// The storage of an object's attributes: a dict, or a values array whose keys are in the type.
struct Attributes {
  RemoteAddr dict;
  RemoteAddr values;
};

Attributes FromValuesPointer(RemoteMemory& memory, RemoteAddr object) {
  constexpr uint64_t kValuesBefore = 32;
  constexpr uint64_t kDictBefore = 24;
  return {RemoteAddr(ReadOr<uint64_t>(memory, object - kDictBefore, 0)),
          RemoteAddr(ReadOr<uint64_t>(memory, object - kValuesBefore, 0))};
}

Attributes FromTaggedPointer(RemoteMemory& memory, const Layout& layout, RemoteAddr object) {
  const auto word = ReadOr<uint64_t>(memory, object - layout.managed_dict, 0);
  return (word & 1) != 0 ? Attributes{{}, RemoteAddr(word + 1)} : Attributes{RemoteAddr(word), {}};
}

Attributes FromInlineValues(RemoteMemory& memory, const Layout& layout, RemoteAddr object, RemoteAddr type,
                            uint64_t flags) {
  Attributes found{RemoteAddr(ReadOr<uint64_t>(memory, object - layout.managed_dict, 0)), {}};
  const auto basic_size = ReadOr<uint64_t>(memory, type + layout.type_basic_size, 0);
  if (found.dict.IsNull() && (flags & kInlineValuesFlag) != 0 && basic_size < kMaxEntries) {
    const RemoteAddr values = object + basic_size;
    if (ReadOr<uint8_t>(memory, values + layout.values_valid, 0) != 0) {
      found.values = values;
    }
  }
  return found;
}

Attributes FindAttributes(RemoteMemory& memory, const Layout& layout, RemoteAddr object, RemoteAddr type) {
  const auto flags = ReadOr<uint64_t>(memory, type + layout.type_flags, 0);
  if ((flags & kManagedDictFlag) != 0) {
    switch (layout.attributes) {
      case AttributesKind::kDictSlot: break;
      case AttributesKind::kValuesPointer: return FromValuesPointer(memory, object);
      case AttributesKind::kTaggedPointer: return FromTaggedPointer(memory, layout, object);
      case AttributesKind::kInlineValues: return FromInlineValues(memory, layout, object, type, flags);
    }
  }
  // Negative offsets count from the end of objects of variable size; their attributes are not read.
  const auto offset = ReadOr<int64_t>(memory, type + layout.type_dict_offset, 0);
  if (offset <= 0 || offset > static_cast<int64_t>(kMaxEntries)) {
    return {};
  }
  return {RemoteAddr(ReadOr<uint64_t>(memory, object + static_cast<uint64_t>(offset), 0)), {}};
}

}  // namespace

bool ObjectReader::VisitDict(RemoteAddr object, size_t max_items, const Visitor& visit) {
  uint64_t keys_address = 0;
  uint64_t values = 0;
  if (memory_.ReadValue(object + layout_.dict_keys, &keys_address) != ReadStatus::kOk || keys_address == 0 ||
      memory_.ReadValue(object + layout_.dict_values, &values) != ReadStatus::kOk) {
    return false;
  }
  const auto keys = ReadKeys(memory_, layout_, RemoteAddr(keys_address));
  if (!keys) {
    return false;
  }
  if (values != 0 && layout_.Has(&Layout::values_items)) {
    values += layout_.values_items;
  }
  return VisitKeys(memory_, *keys, RemoteAddr(values), max_items, visit);
}

bool ObjectReader::VisitAttributes(RemoteAddr object, size_t max_items, const Visitor& visit) {
  const RemoteAddr type(ReadOr<uint64_t>(memory_, object + layout_.object_type, 0));
  if (type.IsNull()) {
    return false;
  }
  const Attributes found = FindAttributes(memory_, layout_, object, type);
  if (!found.dict.IsNull()) {
    return VisitDict(found.dict, max_items, visit);
  }
  const RemoteAddr keys_address(ReadOr<uint64_t>(memory_, type + layout_.type_cached_keys, 0));
  if (found.values.IsNull() || keys_address.IsNull()) {
    return false;
  }
  const auto keys = ReadKeys(memory_, layout_, keys_address);
  return keys && VisitKeys(memory_, *keys, found.values + layout_.values_items, max_items, visit);
}

}  // namespace ptrace_prof
