// The offsets and encodings of CPython's structures: one flat struct of offsets and enum values, filled once at attach.
//
// 3.8–3.12: a compiled-in table in which each version copies the previous one and assigns what changed
// (layout_table.cc). 3.13 and later: imported from the target's own _Py_DebugOffsets (debug_offsets.h), plus the few
// enum values that it lacks. Readers call layout.Has(field) and never test a version. Offsets are in bytes from the
// start of the structure; sizes in bytes. Plain data, immutable after attach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace ptrace_prof {

inline constexpr uint32_t kAbsent = UINT32_MAX;

struct PythonVersion {
  uint8_t major = 0;
  uint8_t minor = 0;
  uint8_t micro = 0;
  uint8_t release_level = 0xF;  // as in PY_VERSION_HEX: 0xA alpha, 0xB beta, 0xC candidate, 0xF final
  uint8_t serial = 0;
  auto operator<=>(const PythonVersion&) const = default;
  static constexpr PythonVersion FromHex(uint32_t hex) {
    return {uint8_t(hex >> 24), uint8_t(hex >> 16), uint8_t(hex >> 8), uint8_t((hex >> 4) & 0xF), uint8_t(hex & 0xF)};
  }
  constexpr uint32_t hex() const {
    return uint32_t{major} << 24 | uint32_t{minor} << 16 | uint32_t{micro} << 8 | uint32_t{release_level} << 4 | serial;
  }
};
std::string ToString(const PythonVersion& version);  // "3.14.2", "3.15.0b4"

// How the line of an instruction is found in a code object (line_table.h).
enum class LineTableKind : uint8_t { kLnotab, kLineTable310, kLocationTable };
// What frame.instruction holds.
enum class InstructionKind : uint8_t {
  kLastiBytes,  // <= 3.9: int32 f_lasti, byte offset, -1 before the first
  kLastiUnits,  // 3.10: int32 f_lasti, in 2-byte units, -1 before the first
  kPrevInstr,   // 3.11, 3.12: pointer to the unit before the next one; code_instructions - 2 before the first
  kInstrPtr,    // 3.13+: pointer to the instruction being executed
};

// What long.size holds.
enum class IntegerKind : uint8_t {
  kSignedSize,  // <= 3.11: number of digits, negative for a negative number
  kTag,         // 3.12+: sign in the low two bits (0 +, 1 zero, 2 -), number of digits from bit 3
};
// The storage of an instance's attributes besides a __dict__ slot at type.dict_offset.
enum class AttributesKind : uint8_t {
  kDictSlot,       // <= 3.10: no other storage
  kValuesPointer,  // 3.11: a values array and a dict, at -32 and -24 from the object; one of them is null
  kTaggedPointer,  // 3.12: one word at -24: a dict, or with bit 0 set a values array
  kInlineValues,   // 3.13+: behind the object itself while values.valid is set; the dict pointer before it
};

// CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR; Include/cpython/code.h, the same in all versions.
constexpr bool MaySuspend(uint32_t code_flags) { return (code_flags & 0x2a0) != 0; }

struct Layout {
  PythonVersion version;
  bool free_threaded = false;
  bool debug_build = false;
  bool state_names_runner = true;  // 3.13+: a state names the thread that runs it; before, in a subinterpreter, the
                                   // thread that made it
  LineTableKind line_table = LineTableKind::kLocationTable;
  InstructionKind instruction = InstructionKind::kInstrPtr;
  IntegerKind integer = IntegerKind::kTag;
  AttributesKind attributes = AttributesKind::kInlineValues;

  // _PyRuntime
  uint32_t runtime_finalizing = kAbsent;         // pointer or int; non-zero: the structures are being destroyed
  uint32_t runtime_interpreters_head = kAbsent;  // newest interpreter first
  uint32_t runtime_interpreters_main = kAbsent;
  uint32_t runtime_gil = kAbsent;            // 3.8–3.11: the one GIL, embedded
  uint32_t runtime_gc_collecting = kAbsent;  // 3.8

  // PyInterpreterState
  uint32_t interp_next = kAbsent;
  uint32_t interp_id = kAbsent;  // int64
  uint32_t interp_threads_head = kAbsent;
  uint32_t interp_threads_main = kAbsent;
  uint32_t interp_modules = kAbsent;      // dict of sys.modules
  uint32_t interp_gil_pointer = kAbsent;  // 3.12+: pointer to its _gil_runtime_state
  uint32_t interp_gc_collecting = kAbsent;
  uint32_t interp_gc_frame = kAbsent;         // 3.15: the frame that triggered the collection
  uint32_t interp_code_generation = kAbsent;  // 3.14+: u64, grows when code objects are freed

  // _gil_runtime_state
  uint32_t gil_enabled = kAbsent;  // free-threaded: int; INT_MAX: on for good, otherwise off or on for moments
  uint32_t gil_last_holder = 8;
  uint32_t gil_locked = 16;         // int; held only if exactly 1
  uint32_t gil_switch_number = 24;  // unsigned long; grows when the holder changes

  // PyThreadState
  uint32_t thread_prev = kAbsent;
  uint32_t thread_next = kAbsent;
  uint32_t thread_interp = kAbsent;
  uint32_t thread_frame = kAbsent;   // <= 3.10: PyFrameObject*; 3.13+: _PyInterpreterFrame*
  uint32_t thread_cframe = kAbsent;  // 3.11, 3.12: _PyCFrame*, on the C stack
  uint32_t cframe_current_frame = kAbsent;
  uint32_t thread_base_frame = kAbsent;  // 3.15: pointer to the bottom frame (a shim), which is behind the thread state
  uint32_t thread_id = kAbsent;          // pthread_t
  uint32_t thread_native_id = kAbsent;   // 3.11+: tid in the target's PID namespace
  uint32_t thread_status = kAbsent;
  uint32_t thread_holds_gil = kAbsent;      // 3.15: int
  uint32_t thread_gil_requested = kAbsent;  // 3.15: int
  uint32_t thread_size = kAbsent;           // bytes to read to cover all fields above

  // PyFrameObject (<= 3.10) or _PyInterpreterFrame
  uint32_t frame_code = kAbsent;         // f_code / f_executable; mask with ~frame_tag_mask
  uint32_t frame_previous = kAbsent;     // f_back / previous
  uint32_t frame_instruction = kAbsent;  // see InstructionKind
  uint32_t frame_owner = kAbsent;        // char; 3.11+
  uint32_t frame_locals = kAbsent;       // localsplus
  uint32_t frame_tlbc_index = kAbsent;   // free-threaded 3.14+: int32
  uint32_t frame_size = kAbsent;         // bytes to read to cover all fields above except the locals
  uint64_t frame_tag_mask = 0;           // low bits that are not part of the address: 3 from 3.14 on
  uint8_t owner_no_python = 0xFF;        // owners >= this have no code: shims; skip them

  // PyCodeObject
  uint32_t code_filename = kAbsent;
  uint32_t code_name = kAbsent;
  uint32_t code_qualname = kAbsent;    // 3.11+
  uint32_t code_line_table = kAbsent;  // bytes object
  uint32_t code_first_line = kAbsent;  // int32
  uint32_t code_arg_count = kAbsent;
  uint32_t code_kwonly_arg_count = kAbsent;
  uint32_t code_flags = kAbsent;
  uint32_t code_local_names = kAbsent;   // co_varnames (<= 3.10) or co_localsplusnames: tuple
  uint32_t code_local_kinds = kAbsent;   // co_localspluskinds: bytes; 3.11+
  uint32_t code_cell_names = kAbsent;    // <= 3.10: co_cellvars, whose cells are behind the locals
  uint32_t code_free_names = kAbsent;    // <= 3.10: co_freevars, behind those
  uint32_t code_instructions = kAbsent;  // 3.11+: co_code_adaptive, inline
  uint32_t code_bytes = kAbsent;         // <= 3.10: co_code, a bytes object
  uint32_t code_tlbc = kAbsent;          // free-threaded 3.14+
  uint32_t code_size = kAbsent;          // bytes to read to cover all fields above (not the instructions themselves,
                                         // but ob_size is covered)
  // Objects
  uint32_t object_type = kAbsent;
  uint32_t var_size = kAbsent;   // ob_size; for a code object on 3.11+: its length in 2-byte units
  uint32_t type_name = kAbsent;  // tp_name: char*
  uint32_t type_flags = kAbsent;
  uint32_t type_basic_size = kAbsent;
  uint32_t type_dict_offset = kAbsent;
  uint32_t type_cached_keys = kAbsent;  // ht_cached_keys: the keys of split dicts and of inline values
  uint32_t bytes_size = kAbsent;
  uint32_t bytes_data = kAbsent;
  uint32_t tuple_size = kAbsent;
  uint32_t tuple_items = kAbsent;
  uint32_t list_items = kAbsent;
  uint32_t list_size = kAbsent;
  uint32_t dict_keys = kAbsent;
  uint32_t dict_values = kAbsent;
  uint32_t dict_used = kAbsent;
  uint32_t keys_size = kAbsent;              // <= 3.10: dk_size, number of index entries
  uint32_t keys_log2_size = kAbsent;         // 3.11+: u8
  uint32_t keys_log2_index_bytes = kAbsent;  // 3.11+: u8
  uint32_t keys_kind = kAbsent;              // 3.11+: u8; 0: entries {hash, key, value}, else {key, value}
  uint32_t keys_entry_count = kAbsent;
  uint32_t keys_indices = kAbsent;  // the index; the entries follow it
  uint32_t values_items = kAbsent;  // 3.11+: in PyDictValues
  uint32_t values_valid = kAbsent;  // 3.13+: u8; 0: the attributes are in the dict
  uint32_t managed_dict = kAbsent;  // 3.11+: bytes *before* the object
  uint32_t float_value = kAbsent;
  uint32_t long_size = kAbsent;  // ob_size or lv_tag
  uint32_t long_digits = kAbsent;
  uint32_t string_length = kAbsent;
  uint32_t string_state = kAbsent;
  uint32_t string_ascii_data = kAbsent;    // = sizeof(PyASCIIObject)
  uint32_t string_compact_data = kAbsent;  // = sizeof(PyCompactUnicodeObject)
  uint32_t string_data_pointer = kAbsent;  // in a string that is not compact
  uint32_t string_kind_shift = kAbsent;    // in the u32 `state`: kind (3 bits), then compact, then ascii

  bool Has(uint32_t Layout::*field) const { return this->*field != kAbsent; }
};

// One entry per offset, used for validation, dumping, tests and the import of _Py_DebugOffsets.
struct LayoutField {
  std::string_view name;  // "frame.previous"
  uint32_t Layout::*slot;
  uint8_t width;  // bytes read there
};
std::span<const LayoutField> LayoutFields();
// One "name offset" per line, without absent ones: for logs and tests.
std::string ToString(const Layout& layout);

// The table of 3.8–3.12 for the architecture that we were built for. kUnimplemented: no table for this version or
// flavour; the message names it.
Result<Layout> LayoutFor(PythonVersion version, bool debug_build);

// Sets thread_size, frame_size and code_size to the bytes that cover their fields.
void CoverFields(Layout& layout);

// Checks that every offset is either kAbsent or below a sane bound, and that all required fields are present.
Result<void> ValidateLayout(const Layout& layout);

}  // namespace ptrace_prof
