#include "symbolizer/cpython/debug_offsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "symbolizer/cpython/debug_offsets_table.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kCookie = "xdebugpy";

struct Header {
  char cookie[8];
  uint64_t version;
  uint64_t free_threaded;
};

constexpr uint64_t kMaxStructureSize = 1 << 20;

// One imported _Py_DebugOffsets: the entries of its minor with the values found.
class RawOffsets {
 public:
  RawOffsets(std::span<const DebugOffsetsEntry> entries, const std::byte* values)
      : entries_(entries), values_(values) {}

  size_t count() const { return entries_.size(); }
  const DebugOffsetsEntry& entry(size_t i) const { return entries_[i]; }
  uint64_t value(size_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, values_ + i * sizeof value, sizeof value);
    return value;
  }
  std::optional<uint64_t> Find(std::string_view name) const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].name == name) {
        return value(i);
      }
    }
    return std::nullopt;
  }
  // Returns 0 if the structure has no size entry.
  uint64_t SizeOfGroupOf(size_t i) const {
    const std::string_view name = entries_[i].name;
    return Find(std::string(name.substr(0, name.find('.'))) + ".size").value_or(0);
  }

 private:
  std::span<const DebugOffsetsEntry> entries_;
  const std::byte* values_;
};

Error Nonsense(const PythonVersion& version, std::string_view what, uint64_t value) {
  return Because(Reason::kPythonDamaged,
                 fmt::format("the target describes itself as CPython {} with {} = {}, which is impossible",
                             ToString(version), what, value),
                 "Its memory may be damaged, or it is a modified CPython.");
}

uint32_t WidthOf(uint32_t Layout::*slot) {
  const auto fields = LayoutFields();
  const auto field = std::ranges::find(fields, slot, &LayoutField::slot);
  return field == fields.end() ? 1 : field->width;
}

// Entries that exist in every build but are used only in free-threaded ones (0 elsewhere).
bool IsFreeThreadedOnly(uint32_t Layout::*slot) {
  return slot == &Layout::frame_tlbc_index || slot == &Layout::code_tlbc;
}

Result<void> ImportEntries(const RawOffsets& raw, Layout& layout) {
  for (size_t i = 0; i < raw.count(); ++i) {
    const DebugOffsetsEntry& entry = raw.entry(i);
    const uint64_t value = raw.value(i);
    if (entry.name.ends_with(".size") && (value == 0 || value > kMaxStructureSize)) {
      return Nonsense(layout.version, entry.name, value);
    }
    if (entry.slot == nullptr || (IsFreeThreadedOnly(entry.slot) && !layout.free_threaded)) {
      continue;
    }
    const uint64_t size = raw.SizeOfGroupOf(i);
    if (value > kMaxStructureSize || value + WidthOf(entry.slot) > size) {
      return Nonsense(layout.version, entry.name, value);
    }
    layout.*entry.slot = static_cast<uint32_t>(value);
  }
  return {};
}

// Fields that _Py_DebugOffsets has only in parts or not at all, computed from others: slot = sum + addend - minus +
// delta. The headers of 3.13, 3.14 and 3.15 agree on all of these, free-threaded or not.
struct Derived {
  uint32_t Layout::*slot;
  std::string_view sum;
  std::string_view addend;  // "" for 0
  std::string_view minus;   // "" for 0
  int64_t delta;
};
constexpr Derived kDerived[] = {
    {&Layout::runtime_interpreters_main, "runtime_state.interpreters_head", "", "", 8},
    {&Layout::interp_gc_collecting, "interpreter_state.gc", "gc.collecting", "", 0},
    {&Layout::interp_gc_frame, "interpreter_state.gc", "gc.frame", "", 0},
    // struct _gil_runtime_state {[int enabled;] interval; last_holder; locked; switch_number}
    {&Layout::gil_last_holder, "interpreter_state.gil_runtime_state_holder", "", "interpreter_state.gil_runtime_state",
     0},
    {&Layout::gil_locked, "interpreter_state.gil_runtime_state_locked", "", "interpreter_state.gil_runtime_state", 0},
    {&Layout::gil_switch_number, "interpreter_state.gil_runtime_state_locked", "",
     "interpreter_state.gil_runtime_state", 8},
    // PyCodeObject: co_flags, co_argcount, co_posonlyargcount, co_kwonlyargcount
    {&Layout::code_flags, "code_object.argcount", "", "", -4},
    {&Layout::code_kwonly_arg_count, "code_object.argcount", "", "", 8},
    {&Layout::var_size, "pyobject.size", "", "", 0},
    // PyTypeObject: tp_name, tp_basicsize; tp_dictoffset is 15 words behind tp_flags
    {&Layout::type_basic_size, "type_object.tp_name", "", "", 8},
    {&Layout::type_dict_offset, "type_object.tp_flags", "", "", 120},
    // PyDictObject: ma_used, a tag, ma_keys
    {&Layout::dict_used, "dict_object.ma_keys", "", "", -16},
    {&Layout::string_ascii_data, "unicode_object.asciiobject_size", "", "", 0},
    // PyCompactUnicodeObject: PyASCIIObject, utf8_length, utf8; PyUnicodeObject: that and a pointer
    {&Layout::string_compact_data, "unicode_object.asciiobject_size", "", "", 16},
    {&Layout::string_data_pointer, "unicode_object.asciiobject_size", "", "", 16},
};

Result<void> DeriveFields(const RawOffsets& raw, Layout& layout) {
  for (const Derived& row : kDerived) {
    const std::optional<uint64_t> sum = raw.Find(row.sum);
    const std::optional<uint64_t> addend = row.addend.empty() ? 0 : raw.Find(row.addend);
    const std::optional<uint64_t> minus = row.minus.empty() ? 0 : raw.Find(row.minus);
    if (!sum || !addend || !minus || layout.Has(row.slot)) {
      continue;  // this minor has no such field, or describes it itself
    }
    if (*sum > kMaxStructureSize || *addend > kMaxStructureSize || *minus > kMaxStructureSize) {
      return Nonsense(layout.version, row.sum, *sum);
    }
    const int64_t value = static_cast<int64_t>(*sum + *addend) - static_cast<int64_t>(*minus) + row.delta;
    if (value < 0 || value > static_cast<int64_t>(kMaxStructureSize)) {
      return Nonsense(layout.version, row.sum, *sum);
    }
    layout.*row.slot = static_cast<uint32_t>(value);
  }
  return {};
}

// Values that are the same in 3.13, 3.14 and 3.15 and not in _Py_DebugOffsets.
void AddConstants(Layout& layout) {
  layout.gil_enabled = layout.free_threaded ? 0 : kAbsent;  // the first field of its structure (pycore_gil.h)
  layout.gil_last_holder = layout.gil_locked = layout.gil_switch_number = kAbsent;  // derived
  layout.line_table = LineTableKind::kLocationTable;
  layout.instruction = InstructionKind::kInstrPtr;
  layout.attributes = AttributesKind::kInlineValues;
  // Include/internal/pycore_dict.h
  layout.keys_log2_size = 8;
  layout.keys_log2_index_bytes = 9;
  layout.keys_kind = 10;
  layout.keys_entry_count = 24;
  layout.keys_indices = 32;
  layout.values_valid = 3;
  layout.values_items = 8;
  layout.managed_dict = layout.free_threaded ? 8 : 24;  // internal/pycore_object.h: no GC head before the object
  // ht_cached_keys is not in the description before 3.15; 3.13 and 3.14 have it at this offset (cpython/object.h).
  layout.type_cached_keys = layout.free_threaded ? 896 : 880;
  // internal/pycore_interpframe_structs.h: enum _frameowner; 3.14 also has 4
  layout.owner_no_python = 3;
  const VersionFacts& facts = FactsOf(layout.version);
  layout.frame_tag_mask = facts.tags_frame_code ? 3 : 0;
  layout.string_kind_shift = layout.free_threaded ? facts.free_threaded_kind_shift : 2;
}

Result<std::span<const DebugOffsetsEntry>> EntriesFor(const PythonVersion& version) {
  const std::string name = ToString(version);
  const auto entries = DebugOffsetsEntries(version);
  if (!DescribesItself(version)) {
    return Because(Reason::kPythonDamaged,
                   fmt::format("the target describes itself as CPython {}, which has no such description", name));
  }
  if (entries.empty()) {
    return Because(Reason::kPythonUnsupported,
                   fmt::format("CPython {} is not supported: {} are", name, SupportedRange()),
                   "Try a newer ptrace-prof.");
  }
  if (version.release_level != 0xF && version.release_level != 0xC) {
    return Because(Reason::kPythonTestRelease,
                   fmt::format("CPython {} is a test release, and its structures are not those of the final one", name),
                   "Run the target with a final release of the same version.");
  }
  return entries;
}

}  // namespace

Result<Layout> ImportDebugOffsets(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), kCookie.data(), kCookie.size()) != 0) {
    return Error{Code::kNotFound, "there is no description of CPython's structures here", {}};
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version > UINT32_MAX || header.free_threaded > 1) {
    return Nonsense({}, "version", header.version);
  }
  Layout layout;
  layout.version = PythonVersion::FromHex(static_cast<uint32_t>(header.version));
  layout.free_threaded = header.free_threaded != 0;
  PP_ASSIGN_OR_RETURN(const std::span<const DebugOffsetsEntry> entries, EntriesFor(layout.version));
  if (bytes.size() < sizeof header + entries.size() * sizeof(uint64_t)) {
    return Because(Reason::kPythonDamaged,
                   fmt::format("the description of CPython {}'s structures is cut short", ToString(layout.version)));
  }
  const RawOffsets raw(entries, bytes.data() + sizeof header);
  AddConstants(layout);
  PP_RETURN_IF_ERROR(ImportEntries(raw, layout));
  PP_RETURN_IF_ERROR(DeriveFields(raw, layout));
  CoverFields(layout);
  PP_RETURN_IF_ERROR(ValidateLayout(layout));
  return layout;
}

}  // namespace ptrace_prof
