#include "symbolizer/cpython/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace ptrace_prof {
namespace {

// frame.instruction is 4 bytes wide up to 3.10; 8 bytes are always readable, because more fields follow it.
constexpr LayoutField kFields[] = {
    {"runtime.finalizing", &Layout::runtime_finalizing, 8},
    {"runtime.interpreters_head", &Layout::runtime_interpreters_head, 8},
    {"runtime.interpreters_main", &Layout::runtime_interpreters_main, 8},
    {"runtime.gil", &Layout::runtime_gil, 32},
    {"runtime.gc_collecting", &Layout::runtime_gc_collecting, 4},
    {"interp.next", &Layout::interp_next, 8},
    {"interp.id", &Layout::interp_id, 8},
    {"interp.threads_head", &Layout::interp_threads_head, 8},
    {"interp.threads_main", &Layout::interp_threads_main, 8},
    {"interp.modules", &Layout::interp_modules, 8},
    {"interp.gil_pointer", &Layout::interp_gil_pointer, 8},
    {"interp.gc_collecting", &Layout::interp_gc_collecting, 4},
    {"interp.gc_frame", &Layout::interp_gc_frame, 8},
    {"interp.code_generation", &Layout::interp_code_generation, 8},
    {"gil.enabled", &Layout::gil_enabled, 4},
    {"gil.last_holder", &Layout::gil_last_holder, 8},
    {"gil.locked", &Layout::gil_locked, 4},
    {"gil.switch_number", &Layout::gil_switch_number, 8},
    {"thread.prev", &Layout::thread_prev, 8},
    {"thread.next", &Layout::thread_next, 8},
    {"thread.interp", &Layout::thread_interp, 8},
    {"thread.frame", &Layout::thread_frame, 8},
    {"thread.cframe", &Layout::thread_cframe, 8},
    {"cframe.current_frame", &Layout::cframe_current_frame, 8},
    {"thread.base_frame", &Layout::thread_base_frame, 8},
    {"thread.id", &Layout::thread_id, 8},
    {"thread.native_id", &Layout::thread_native_id, 8},
    {"thread.status", &Layout::thread_status, 4},
    {"thread.holds_gil", &Layout::thread_holds_gil, 4},
    {"thread.gil_requested", &Layout::thread_gil_requested, 4},
    {"frame.code", &Layout::frame_code, 8},
    {"frame.previous", &Layout::frame_previous, 8},
    {"frame.instruction", &Layout::frame_instruction, 8},
    {"frame.owner", &Layout::frame_owner, 1},
    {"frame.locals", &Layout::frame_locals, 8},
    {"frame.tlbc_index", &Layout::frame_tlbc_index, 4},
    {"code.filename", &Layout::code_filename, 8},
    {"code.name", &Layout::code_name, 8},
    {"code.qualname", &Layout::code_qualname, 8},
    {"code.line_table", &Layout::code_line_table, 8},
    {"code.first_line", &Layout::code_first_line, 4},
    {"code.arg_count", &Layout::code_arg_count, 4},
    {"code.kwonly_arg_count", &Layout::code_kwonly_arg_count, 4},
    {"code.flags", &Layout::code_flags, 4},
    {"code.local_names", &Layout::code_local_names, 8},
    {"code.local_kinds", &Layout::code_local_kinds, 8},
    {"code.cell_names", &Layout::code_cell_names, 8},
    {"code.free_names", &Layout::code_free_names, 8},
    {"code.instructions", &Layout::code_instructions, 2},
    {"code.bytes", &Layout::code_bytes, 8},
    {"code.tlbc", &Layout::code_tlbc, 8},
    {"object.type", &Layout::object_type, 8},
    {"var.size", &Layout::var_size, 8},
    {"type.name", &Layout::type_name, 8},
    {"type.flags", &Layout::type_flags, 8},
    {"type.basic_size", &Layout::type_basic_size, 8},
    {"type.dict_offset", &Layout::type_dict_offset, 8},
    {"type.cached_keys", &Layout::type_cached_keys, 8},
    {"bytes.size", &Layout::bytes_size, 8},
    {"bytes.data", &Layout::bytes_data, 1},
    {"tuple.size", &Layout::tuple_size, 8},
    {"tuple.items", &Layout::tuple_items, 8},
    {"list.items", &Layout::list_items, 8},
    {"list.size", &Layout::list_size, 8},
    {"dict.keys", &Layout::dict_keys, 8},
    {"dict.values", &Layout::dict_values, 8},
    {"dict.used", &Layout::dict_used, 8},
    {"keys.size", &Layout::keys_size, 8},
    {"keys.log2_size", &Layout::keys_log2_size, 1},
    {"keys.log2_index_bytes", &Layout::keys_log2_index_bytes, 1},
    {"keys.kind", &Layout::keys_kind, 1},
    {"keys.entry_count", &Layout::keys_entry_count, 8},
    {"keys.indices", &Layout::keys_indices, 1},
    {"values.items", &Layout::values_items, 8},
    {"values.valid", &Layout::values_valid, 1},
    {"float.value", &Layout::float_value, 8},
    {"long.size", &Layout::long_size, 8},
    {"long.digits", &Layout::long_digits, 4},
    {"string.length", &Layout::string_length, 8},
    {"string.state", &Layout::string_state, 4},
    {"string.ascii_data", &Layout::string_ascii_data, 1},
    {"string.compact_data", &Layout::string_compact_data, 1},
    {"string.data_pointer", &Layout::string_data_pointer, 8},
};

// The structures of the interpreter itself are large (200 KiB in 3.13), and their fields may be anywhere in them. The
// structures that are read per sample are small; a larger offset would make us read far too much.
constexpr uint32_t kMaxLargeOffset = 1 << 20;
constexpr uint32_t kMaxSmallOffset = 4096;

bool IsLarge(std::string_view name) { return name.starts_with("runtime.") || name.starts_with("interp."); }

// The fields that every reader uses without calling Has().
constexpr uint32_t Layout::*kRequired[] = {
    &Layout::runtime_interpreters_head,
    &Layout::runtime_interpreters_main,
    &Layout::runtime_finalizing,
    &Layout::interp_next,
    &Layout::interp_id,
    &Layout::interp_threads_head,
    &Layout::interp_modules,
    &Layout::thread_next,
    &Layout::thread_interp,
    &Layout::thread_id,
    &Layout::thread_size,
    &Layout::frame_code,
    &Layout::frame_previous,
    &Layout::frame_instruction,
    &Layout::frame_locals,
    &Layout::frame_size,
    &Layout::code_filename,
    &Layout::code_name,
    &Layout::code_line_table,
    &Layout::code_first_line,
    &Layout::code_size,
    &Layout::object_type,
    &Layout::var_size,
    &Layout::type_name,
    &Layout::type_flags,
    &Layout::bytes_size,
    &Layout::bytes_data,
    &Layout::tuple_size,
    &Layout::tuple_items,
    &Layout::dict_keys,
    &Layout::dict_values,
    &Layout::keys_entry_count,
    &Layout::keys_indices,
    &Layout::string_length,
    &Layout::string_state,
    &Layout::string_ascii_data,
    &Layout::string_compact_data,
    &Layout::string_data_pointer,
    &Layout::string_kind_shift,
    &Layout::gil_last_holder,
    &Layout::gil_locked,
    &Layout::gil_switch_number,
};

Result<void> CheckField(const Layout& layout, const LayoutField& field) {
  const uint32_t offset = layout.*field.slot;
  if (offset == kAbsent) {
    return {};
  }
  const uint32_t bound = IsLarge(field.name) ? kMaxLargeOffset : kMaxSmallOffset;
  const uint32_t alignment = std::min<uint32_t>(field.width, 8);
  if (offset > bound - field.width || offset % alignment != 0) {
    return Because(Reason::kPythonDamaged,
                   fmt::format("the layout of CPython {} puts {} at offset {}, which is impossible",
                               ToString(layout.version), field.name, offset));
  }
  return {};
}

Error Missing(const Layout& layout, std::string_view what) {
  return Because(Reason::kPythonDamaged,
                 fmt::format("the layout of CPython {} lacks {}", ToString(layout.version), what));
}

std::string_view NameOf(uint32_t Layout::*slot) {
  const auto* field = std::ranges::find(kFields, slot, &LayoutField::slot);
  return field == std::end(kFields) ? "a structure size" : field->name;
}

// The end of the last field whose name starts with `prefix`, rounded up to a word.
uint32_t CoverageOf(const Layout& layout, std::string_view prefix, std::initializer_list<uint32_t Layout::*> except) {
  uint32_t end = 0;
  for (const LayoutField& field : kFields) {
    const uint32_t offset = layout.*field.slot;
    if (field.name.starts_with(prefix) && offset != kAbsent && std::ranges::find(except, field.slot) == except.end()) {
      end = std::max(end, offset + field.width);
    }
  }
  return (end + 7) & ~7U;
}

}  // namespace

std::span<const LayoutField> LayoutFields() { return kFields; }

void CoverFields(Layout& layout) {
  layout.thread_size = CoverageOf(layout, "thread.", {});
  layout.frame_size = CoverageOf(layout, "frame.", {&Layout::frame_locals});
  layout.code_size =
      std::max(CoverageOf(layout, "code.", {&Layout::code_instructions}), CoverageOf(layout, "var.", {}));
}

Result<void> ValidateLayout(const Layout& layout) {
  for (const LayoutField& field : kFields) {
    PP_RETURN_IF_ERROR(CheckField(layout, field));
  }
  for (uint32_t Layout::*slot : kRequired) {
    if (!layout.Has(slot)) {
      return Missing(layout, NameOf(slot));
    }
  }
  if (!layout.Has(&Layout::thread_frame) &&
      !(layout.Has(&Layout::thread_cframe) && layout.Has(&Layout::cframe_current_frame))) {
    return Missing(layout, "a way from a thread to its frames");
  }
  if (!layout.Has(&Layout::code_instructions) && !layout.Has(&Layout::code_bytes)) {
    return Missing(layout, "code.instructions");
  }
  if (layout.string_kind_shift > 24) {
    return Missing(layout, "string.kind_shift");
  }
  return {};
}

std::string ToString(const Layout& layout) {
  std::string text;
  for (const LayoutField& field : kFields) {
    if (layout.Has(field.slot)) {
      fmt::format_to(std::back_inserter(text), "{} {}\n", field.name, layout.*field.slot);
    }
  }
  return text;
}

std::string ToString(const PythonVersion& version) {
  std::string text = fmt::format("{}.{}.{}", version.major, version.minor, version.micro);
  if (version.release_level != 0xF) {
    const char* level = version.release_level == 0xA ? "a" : version.release_level == 0xB ? "b" : "rc";
    fmt::format_to(std::back_inserter(text), "{}{}", level, version.serial);
  }
  return text;
}

}  // namespace ptrace_prof
