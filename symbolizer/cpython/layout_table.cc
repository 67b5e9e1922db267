// Offsets of CPython 3.8–3.12 on 64-bit Linux. No field of architecture-dependent size (a mutex, a condition) comes
// before these fields. Each function lists what its version changed; headers are given by their path in CPython's tree.
// tests/unit/symbolizer/cpython/layout_test.cc has every number checked by a C compiler against the installed headers.
#include <fmt/format.h>

#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

void AddObjects38(Layout& l) {
  // Include/object.h, Include/cpython/object.h
  l.object_type = 8;
  l.var_size = 16;
  l.type_name = 24;
  l.type_basic_size = 32;
  l.type_flags = 168;
  l.type_dict_offset = 288;
  l.type_cached_keys = 872;
  // Include/bytesobject.h, cpython/tupleobject.h, listobject.h, floatobject.h, longintrepr.h
  l.bytes_size = 16;
  l.bytes_data = 32;
  l.tuple_size = 16;
  l.tuple_items = 24;
  l.list_size = 16;
  l.list_items = 24;
  l.float_value = 16;
  l.long_size = 16;
  l.long_digits = 24;
  // Include/cpython/dictobject.h, Objects/dict-common.h
  l.dict_used = 16;
  l.dict_keys = 32;
  l.dict_values = 40;
  l.keys_size = 8;
  l.keys_entry_count = 32;
  l.keys_indices = 40;
  // Include/cpython/unicodeobject.h
  l.string_length = 16;
  l.string_state = 32;
  l.string_kind_shift = 2;
  l.string_ascii_data = 48;
  l.string_compact_data = 72;
  l.string_data_pointer = 72;
}

Layout Py38() {
  Layout l;
  l.line_table = LineTableKind::kLnotab;
  l.instruction = InstructionKind::kLastiBytes;
  l.integer = IntegerKind::kSignedSize;
  l.attributes = AttributesKind::kDictSlot;
  // Include/internal/pycore_pystate.h
  l.runtime_finalizing = 16;
  l.runtime_interpreters_head = 32;
  l.runtime_interpreters_main = 40;
  l.runtime_gc_collecting = 544;
  l.runtime_gil = 1152;
  l.interp_next = 0;
  l.interp_threads_head = 8;
  l.interp_id = 16;
  l.interp_modules = 56;
  // Include/internal/pycore_gil.h
  l.gil_last_holder = 8;
  l.gil_locked = 16;
  l.gil_switch_number = 24;
  // Include/cpython/pystate.h
  l.thread_prev = 0;
  l.thread_next = 8;
  l.thread_interp = 16;
  l.thread_frame = 24;
  l.thread_id = 176;
  // Include/frameobject.h
  l.frame_previous = 24;
  l.frame_code = 32;
  l.frame_instruction = 104;
  l.frame_locals = 360;
  // Include/code.h
  l.code_arg_count = 16;
  l.code_kwonly_arg_count = 24;
  l.code_flags = 36;
  l.code_first_line = 40;
  l.code_bytes = 48;
  l.code_local_names = 72;
  l.code_free_names = 80;
  l.code_cell_names = 88;
  l.code_filename = 104;
  l.code_name = 112;
  l.code_line_table = 120;
  AddObjects38(l);
  return l;
}

Layout Py39() {
  Layout l = Py38();
  l.runtime_gil = 352;  // bpo-36854: gc left _PyRuntimeState (internal/pycore_runtime.h)
  l.runtime_gc_collecting = kAbsent;
  l.interp_gc_collecting = 816;  // bpo-36854: … for PyInterpreterState (internal/pycore_interp.h)
  l.interp_id = 24;              // a pointer to the runtime before it (internal/pycore_interp.h)
  l.interp_modules = 856;        // ceval and gc before it (internal/pycore_interp.h)
  l.type_cached_keys = 864;      // the tp_print kept for 3.8 alone left PyTypeObject (cpython/object.h)
  return l;
}

Layout Py310() {
  Layout l = Py39();
  l.line_table = LineTableKind::kLineTable310;   // PEP 626
  l.instruction = InstructionKind::kLastiUnits;  // bpo-27129 (GH-25069)
  l.frame_instruction = 96;  // int f_stackdepth instead of the pointer f_stacktop (cpython/frameobject.h)
  l.frame_locals = 352;
  l.type_cached_keys = 872;  // am_send in PyAsyncMethods (bpo-41756; cpython/object.h)
  return l;
}

Layout Py311() {
  Layout l = Py310();
  l.line_table = LineTableKind::kLocationTable;   // PEP 657; Objects/locations.md
  l.instruction = InstructionKind::kPrevInstr;    // internal/pycore_frame.h
  l.attributes = AttributesKind::kValuesPointer;  // internal/pycore_object.h
  // internal/pycore_runtime.h
  l.runtime_finalizing = 24;
  l.runtime_interpreters_head = 40;
  l.runtime_interpreters_main = 48;
  l.runtime_gil = 360;
  // internal/pycore_interp.h
  l.interp_threads_head = 16;
  l.interp_id = 48;
  l.interp_gc_collecting = 848;
  l.interp_modules = 888;
  // cpython/pystate.h
  l.thread_frame = kAbsent;
  l.thread_cframe = 56;
  l.cframe_current_frame = 8;
  l.thread_id = 152;
  l.thread_native_id = 160;
  // internal/pycore_frame.h: _PyInterpreterFrame instead of PyFrameObject
  l.frame_code = 32;
  l.frame_previous = 48;
  l.frame_instruction = 56;
  l.frame_owner = 69;
  l.frame_locals = 72;
  // cpython/code.h
  l.code_flags = 48;
  l.code_arg_count = 56;
  l.code_kwonly_arg_count = 64;
  l.code_first_line = 72;
  l.code_local_names = 96;
  l.code_cell_names = l.code_free_names = kAbsent;
  l.code_local_kinds = 104;
  l.code_filename = 112;
  l.code_name = 120;
  l.code_qualname = 128;
  l.code_line_table = 136;
  l.code_bytes = kAbsent;
  l.code_instructions = 184;
  // internal/pycore_dict.h
  l.keys_size = kAbsent;
  l.keys_log2_size = 8;
  l.keys_log2_index_bytes = 9;
  l.keys_kind = 10;
  l.keys_entry_count = 24;
  l.keys_indices = 32;
  l.values_items = 0;
  l.managed_dict = 24;
  return l;
}

Layout Py312() {
  Layout l = Py311();
  l.attributes = AttributesKind::kTaggedPointer;  // internal/pycore_object.h
  l.integer = IntegerKind::kTag;                  // gh-101291; internal/pycore_long.h
  // PEP 684: the GIL and the state of imports belong to the interpreter (internal/pycore_interp.h)
  l.runtime_gil = kAbsent;
  l.interp_gil_pointer = 384;
  l.interp_id = 8;
  l.interp_threads_head = 72;
  l.interp_gc_collecting = 312;
  l.interp_modules = 944;
  // cpython/pystate.h
  l.thread_status = 24;
  l.cframe_current_frame = 0;
  l.thread_id = 136;
  l.thread_native_id = 144;
  // internal/pycore_frame.h
  l.frame_code = 0;
  l.frame_previous = 8;
  l.frame_owner = 70;
  l.owner_no_python = 3;  // FRAME_OWNED_BY_CSTACK: the frame of a call from C
  // cpython/code.h: the warm-up counter left
  l.code_arg_count = 52;
  l.code_kwonly_arg_count = 60;
  l.code_first_line = 68;
  l.code_instructions = 192;  // co_monitoring of PEP 669
  l.type_cached_keys = 880;   // tp_watched (cpython/object.h)
  // PEP 623: wstr and wstr_length left the strings (cpython/unicodeobject.h)
  l.string_ascii_data = 40;
  l.string_compact_data = 56;
  l.string_data_pointer = 56;
  return l;
}

struct Row {
  uint8_t minor;
  Layout (*make)();
};
constexpr Row kRows[] = {{8, Py38}, {9, Py39}, {10, Py310}, {11, Py311}, {12, Py312}};

}  // namespace

Result<Layout> LayoutFor(PythonVersion version, bool debug_build) {
  const std::string name = ToString(version);
  if (version.release_level == 0xA || version.release_level == 0xB) {
    return Because(Reason::kPythonTestRelease,
                   fmt::format("CPython {} is a test release, and its structures are not those of the final one", name),
                   "Run the target with a final release of the same version.");
  }
  for (const Row& row : kRows) {
    if (version.major == 3 && version.minor == row.minor) {
      Layout layout = row.make();
      layout.version = version;
      layout.state_names_runner = false;
      layout.debug_build = debug_build;  // --with-pydebug moves none of these fields
      CoverFields(layout);
      PP_RETURN_IF_ERROR(ValidateLayout(layout));
      return layout;
    }
  }
  return Because(Reason::kPythonUnsupported,
                 fmt::format("CPython {} is not supported: {} are", name, SupportedRange()));
}

}  // namespace ptrace_prof
