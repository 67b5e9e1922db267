#include "symbolizer/cpython/object_reader.h"

#include <algorithm>
#include <cstring>

#include "symbolizer/cpython/unicode_text.h"

namespace ptrace_prof {
namespace {

// No object is larger than the address space, so a greater length is invalid.
constexpr uint64_t kMaxLength = uint64_t{1} << 46;
constexpr uint64_t kPage = 4096;

template <typename T>
T At(std::span<const std::byte> bytes, uint32_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

std::optional<std::vector<std::byte>> ReadRange(RemoteMemory& memory, RemoteAddr from, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0 && memory.Read(from, bytes.data(), size) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return bytes;
}

// A pointer, if it can be read and is not null.
std::optional<RemoteAddr> ReadPointer(RemoteMemory& memory, RemoteAddr from) {
  uint64_t value = 0;
  if (memory.ReadValue(from, &value) != ReadStatus::kOk || value == 0) {
    return std::nullopt;
  }
  return RemoteAddr(value);
}

// ob_size and similar: any length up to kMaxLength.
std::optional<size_t> ReadLength(RemoteMemory& memory, RemoteAddr from) {
  uint64_t length = 0;
  if (memory.ReadValue(from, &length) != ReadStatus::kOk || length > kMaxLength) {
    return std::nullopt;
  }
  return length;
}

// A C string, at most `max_bytes`, without reading beyond the page in which it ends.
std::optional<std::string> ReadCString(RemoteMemory& memory, RemoteAddr from, size_t max_bytes) {
  std::string text;
  while (text.size() < max_bytes) {
    char chunk[256];
    const size_t size = std::min({sizeof chunk, max_bytes - text.size(), size_t{kPage - from.value % kPage}});
    if (memory.Read(from, chunk, size) != ReadStatus::kOk) {
      return std::nullopt;
    }
    const size_t length = strnlen(chunk, size);
    text.append(chunk, length);
    if (length < size) {
      break;
    }
    from = from + size;
  }
  return text;
}

struct StringHeader {
  uint64_t length;
  unsigned width;
  bool compact;
  bool ascii;
};

std::optional<StringHeader> ParseStringHeader(const Layout& layout, std::span<const std::byte> bytes) {
  const auto state = At<uint32_t>(bytes, layout.string_state) >> layout.string_kind_shift;
  const StringHeader header{At<uint64_t>(bytes, layout.string_length), state & 7, (state & 8) != 0, (state & 16) != 0};
  const bool width_ok = header.width == 1 || (!header.ascii && (header.width == 2 || header.width == 4));
  if (!width_ok || header.length > kMaxLength) {
    return std::nullopt;
  }
  return header;
}

}  // namespace

std::optional<std::string> ObjectReader::ReadString(RemoteAddr object, size_t max_bytes) {
  // Most strings are short: reads header and characters at once, unless that leaves the mapping.
  const size_t header_size = layout_.string_compact_data + sizeof(uint64_t);
  auto start = ReadRange(memory_, object, header_size + 120);
  if (!start) {
    start = ReadRange(memory_, object, layout_.string_ascii_data);
  }
  const auto header = start ? ParseStringHeader(layout_, *start) : std::nullopt;
  if (!header) {
    return std::nullopt;
  }
  RemoteAddr data = object + (header->ascii ? layout_.string_ascii_data : layout_.string_compact_data);
  if (!header->compact) {
    const auto pointer = ReadPointer(memory_, object + layout_.string_data_pointer);
    if (!pointer) {
      return std::nullopt;
    }
    data = *pointer;
  }
  const size_t size = std::min<uint64_t>(header->length, max_bytes) * header->width;
  const uint64_t offset = data - object;
  if (header->compact && offset + size <= start->size()) {
    return Utf8Of(std::span(*start).subspan(offset, size), header->width, max_bytes);
  }
  const auto characters = ReadRange(memory_, data, size);
  if (!characters) {
    return std::nullopt;
  }
  return Utf8Of(*characters, header->width, max_bytes);
}

std::optional<std::vector<uint8_t>> ObjectReader::ReadBytes(RemoteAddr object, size_t max_bytes) {
  const auto size = ReadLength(memory_, object + layout_.bytes_size);
  if (!size || *size > max_bytes) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes(*size);
  if (*size != 0 && memory_.Read(object + layout_.bytes_data, bytes.data(), *size) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<std::vector<RemoteAddr>> ObjectReader::ReadPointers(RemoteAddr from, size_t count) {
  std::vector<RemoteAddr> items(count);
  static_assert(sizeof(RemoteAddr) == sizeof(uint64_t));
  if (count != 0 && memory_.Read(from, items.data(), count * sizeof(RemoteAddr)) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return items;
}

std::optional<std::vector<RemoteAddr>> ObjectReader::ReadTuple(RemoteAddr object, size_t max_items) {
  const auto size = ReadLength(memory_, object + layout_.tuple_size);
  if (!size) {
    return std::nullopt;
  }
  return ReadPointers(object + layout_.tuple_items, std::min(*size, max_items));
}

std::optional<std::vector<RemoteAddr>> ObjectReader::ReadList(RemoteAddr object, size_t max_items) {
  const auto size = ReadLength(memory_, object + layout_.list_size);
  RemoteAddr items;
  if (!size || memory_.ReadValue(object + layout_.list_items, &items.value) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return ReadPointers(items, std::min(*size, max_items));
}

std::optional<int64_t> ObjectReader::ReadInt(RemoteAddr object) {
  uint64_t size = 0;
  if (memory_.ReadValue(object + layout_.long_size, &size) != ReadStatus::kOk) {
    return std::nullopt;
  }
  bool negative = static_cast<int64_t>(size) < 0;
  uint64_t count = negative ? ~size + 1 : size;
  if (layout_.integer == IntegerKind::kTag) {
    constexpr uint64_t kSignMask = 3, kZero = 1, kNegative = 2;
    negative = (size & kSignMask) == kNegative;
    count = (size & kSignMask) == kZero ? 0 : size >> 3;
  }
  constexpr unsigned kDigitBits = 30;
  uint32_t digits[3] = {};
  if (count > std::size(digits) ||
      (count != 0 && memory_.Read(object + layout_.long_digits, digits, count * sizeof(uint32_t)) != ReadStatus::kOk)) {
    return std::nullopt;
  }
  __extension__ unsigned __int128 magnitude = 0;
  for (size_t i = count; i-- > 0;) {
    magnitude = magnitude << kDigitBits | (digits[i] & ((1U << kDigitBits) - 1));
  }
  if (magnitude > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  const auto value = static_cast<int64_t>(magnitude);
  return negative ? -value : value;
}

std::optional<std::string> ObjectReader::ReadTypeName(RemoteAddr object) {
  const auto type = ReadPointer(memory_, object + layout_.object_type);
  return type ? ReadNameOfType(*type) : std::nullopt;
}

std::optional<std::string> ObjectReader::ReadNameOfType(RemoteAddr type) {
  const auto name = ReadPointer(memory_, type + layout_.type_name);
  return name ? ReadCText(*name, 256) : std::nullopt;
}

std::optional<std::string> ObjectReader::ReadCText(RemoteAddr from, size_t max_bytes) {
  return ReadCString(memory_, from, max_bytes);
}

}  // namespace ptrace_prof
