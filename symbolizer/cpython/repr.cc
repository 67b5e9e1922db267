// ObjectReader::Repr: a short text for the value of a local variable, similar to Python's repr().
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "symbolizer/cpython/object_reader.h"
#include "symbolizer/cpython/unicode_text.h"

namespace ptrace_prof {
namespace {

constexpr int kMaxDepth = 3;      // of nested containers; also ends cycles
constexpr size_t kMaxItems = 16;  // per container
constexpr std::string_view kEllipsis = "...";

// Python prints floats with the fewest digits that read back the same value, and always as floats.
std::string FloatText(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

// Quotes the text and escapes non-printable ASCII; other characters stay as they are.
std::string Quoted(std::string_view text, std::string_view prefix) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(prefix);
  out.push_back(quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool raw_byte = !prefix.empty() && byte >= 0x80;
    if (c == quote || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.push_back('\\');
      out.push_back(c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    } else if (byte < 0x20 || byte == 0x7F || raw_byte) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return out;
}

}  // namespace

// Writes one Repr. Once the text is full, nothing more is read from the target.
class ReprWriter {
 public:
  ReprWriter(ObjectReader& reader, size_t max_chars)
      : reader_(reader), memory_(reader.memory_), layout_(reader.layout_), max_chars_(max_chars) {}

  void Write(RemoteAddr object, int depth);
  std::string Finish() {
    if (text_.size() > max_chars_) {
      CutUtf8(text_, max_chars_ < kEllipsis.size() ? 0 : max_chars_ - kEllipsis.size());
      text_ += kEllipsis.substr(0, max_chars_);
    }
    return std::move(text_);
  }

 private:
  using Writer = bool (ReprWriter::*)(RemoteAddr object, int depth);
  struct Kind {
    std::string_view type;  // exact name, or "": any type with this flag
    uint64_t flag;          // Py_TPFLAGS_*_SUBCLASS, the same in all versions (Include/object.h)
    Writer write;
  };
  static const Kind kKinds[];

  bool WriteNone(RemoteAddr, int) { return Put("None"); }
  bool WriteBool(RemoteAddr object, int);
  bool WriteInt(RemoteAddr object, int);
  bool WriteFloat(RemoteAddr object, int);
  bool WriteString(RemoteAddr object, int);
  bool WriteBytes(RemoteAddr object, int);
  bool WriteTuple(RemoteAddr object, int depth);
  bool WriteList(RemoteAddr object, int depth);
  bool WriteDict(RemoteAddr object, int depth);
  template <typename T>
  bool WriteScalar(RemoteAddr object, int);  // a numpy scalar: the value follows the object head
  void WriteItems(RemoteAddr items, uint64_t count, int depth);
  void WriteOther(RemoteAddr object, std::string_view type);

  bool Put(std::string_view text) {
    text_ += text;
    return true;
  }
  bool full() const { return text_.size() > max_chars_; }
  size_t room() const { return max_chars_ + 1 - std::min(text_.size(), max_chars_ + 1); }
  uint64_t Word(RemoteAddr from) {
    uint64_t value = 0;
    return memory_.ReadValue(from, &value) == ReadStatus::kOk ? value : 0;
  }

  ObjectReader& reader_;
  RemoteMemory& memory_;
  const Layout& layout_;
  size_t max_chars_;
  std::string text_;
};

const ReprWriter::Kind ReprWriter::kKinds[] = {
    {"NoneType", 0, &ReprWriter::WriteNone},
    {"bool", 0, &ReprWriter::WriteBool},
    {"float", 0, &ReprWriter::WriteFloat},
    {"numpy.float64", 0, &ReprWriter::WriteScalar<double>},
    {"numpy.float32", 0, &ReprWriter::WriteScalar<float>},
    {"numpy.int64", 0, &ReprWriter::WriteScalar<int64_t>},
    {"numpy.int32", 0, &ReprWriter::WriteScalar<int32_t>},
    {"", uint64_t{1} << 24, &ReprWriter::WriteInt},
    {"", uint64_t{1} << 25, &ReprWriter::WriteList},
    {"", uint64_t{1} << 26, &ReprWriter::WriteTuple},
    {"", uint64_t{1} << 27, &ReprWriter::WriteBytes},
    {"", uint64_t{1} << 28, &ReprWriter::WriteString},
    {"", uint64_t{1} << 29, &ReprWriter::WriteDict},
};

void ReprWriter::Write(RemoteAddr object, int depth) {
  if (full()) {
    return;
  }
  const RemoteAddr type(object.IsNull() ? 0 : Word(object + layout_.object_type));
  const auto name = type.IsNull() ? std::nullopt : reader_.ReadTypeName(object);
  if (!name) {
    Put("<unreadable>");
    return;
  }
  const uint64_t flags = Word(type + layout_.type_flags);
  for (const Kind& kind : kKinds) {
    const bool matches = kind.type.empty() ? (flags & kind.flag) != 0 : *name == kind.type;
    if (matches && (this->*kind.write)(object, depth)) {
      return;
    }
  }
  WriteOther(object, *name);
}

void ReprWriter::WriteOther(RemoteAddr object, std::string_view type) {
  // The name of a heap type has no module, that of a C type has: show the last part. Control characters become '?'.
  type = type.substr(type.rfind('.') == std::string_view::npos ? 0 : type.rfind('.') + 1);
  std::string name(type);
  for (char& c : name) {
    c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  Put(fmt::format("<{} at {:#x}>", name, object.value));
}

bool ReprWriter::WriteBool(RemoteAddr object, int) {
  const auto value = reader_.ReadInt(object);
  return value && Put(*value != 0 ? "True" : "False");
}

bool ReprWriter::WriteInt(RemoteAddr object, int) {
  const auto value = reader_.ReadInt(object);
  return value && Put(fmt::format("{}", *value));
}

bool ReprWriter::WriteFloat(RemoteAddr object, int) {
  double value = 0;
  return memory_.ReadValue(object + layout_.float_value, &value) == ReadStatus::kOk && Put(FloatText(value));
}

template <typename T>
bool ReprWriter::WriteScalar(RemoteAddr object, int) {
  T value{};
  if (memory_.ReadValue(object + layout_.var_size, &value) != ReadStatus::kOk) {
    return false;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return Put(FloatText(value));
  } else {
    return Put(fmt::format("{}", value));
  }
}

bool ReprWriter::WriteString(RemoteAddr object, int) {
  const auto text = reader_.ReadString(object, room());
  return text && Put(Quoted(*text, ""));
}

bool ReprWriter::WriteBytes(RemoteAddr object, int) {
  const uint64_t size = Word(object + layout_.bytes_size);
  std::string text(std::min<uint64_t>(size, room()), '\0');
  if (!text.empty() && memory_.Read(object + layout_.bytes_data, text.data(), text.size()) != ReadStatus::kOk) {
    return false;
  }
  return Put(Quoted(text, "b"));
}

void ReprWriter::WriteItems(RemoteAddr items, uint64_t count, int depth) {
  const auto addresses = reader_.ReadPointers(items, std::min<uint64_t>(count, kMaxItems));
  if (depth >= kMaxDepth || !addresses) {
    Put(kEllipsis);
    return;
  }
  for (size_t i = 0; i < addresses->size() && !full(); ++i) {
    Put(i == 0 ? "" : ", ");
    Write((*addresses)[i], depth + 1);
  }
  if (count > addresses->size()) {
    Put(", ...");
  }
}

bool ReprWriter::WriteTuple(RemoteAddr object, int depth) {
  const uint64_t count = Word(object + layout_.tuple_size);
  Put("(");
  WriteItems(object + layout_.tuple_items, count, depth);
  return Put(count == 1 ? ",)" : ")");
}

bool ReprWriter::WriteList(RemoteAddr object, int depth) {
  const uint64_t count = Word(object + layout_.list_size);
  Put("[");
  WriteItems(RemoteAddr(Word(object + layout_.list_items)), count, depth);
  return Put("]");
}

bool ReprWriter::WriteDict(RemoteAddr object, int depth) {
  Put("{");
  if (depth >= kMaxDepth) {
    return Put("...}");
  }
  size_t shown = 0;
  reader_.VisitDict(object, kMaxItems + 1, [&](RemoteAddr key, RemoteAddr value) {
    Put(shown == 0 ? "" : ", ");
    if (shown++ == kMaxItems || full()) {
      Put(kEllipsis);
      return false;
    }
    Write(key, depth + 1);
    Put(": ");
    Write(value, depth + 1);
    return true;
  });
  return Put("}");
}

std::string ObjectReader::Repr(RemoteAddr object, size_t max_chars) {
  ReprWriter writer(*this, max_chars);
  writer.Write(object, 0);
  return writer.Finish();
}

}  // namespace ptrace_prof
