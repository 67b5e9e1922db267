// Prints, for the CPython whose headers it is compiled with, where its compiler put each field of our Layout: one "name
// offset" per line, and "debug_offsets <hex>" with the contents of _Py_DebugOffsets where it has one. With
// -DPy_GIL_DISABLED it does so for the free-threaded build of the same version.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <internal/pycore_gil.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_runtime.h>
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_ceval.h>
#include <internal/pycore_runtime_init.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#endif

#define AT(name, type, member) printf("%s %zu\n", name, offsetof(type, member))
#define VALUE(name, value) printf("%s %zu\n", name, (size_t)(value))

static void Runtime(void) {
#if PY_VERSION_HEX >= 0x03090000
  AT("runtime.finalizing", _PyRuntimeState, _finalizing);
#else
  AT("runtime.finalizing", _PyRuntimeState, finalizing);
#endif
  AT("runtime.interpreters_head", _PyRuntimeState, interpreters.head);
  AT("runtime.interpreters_main", _PyRuntimeState, interpreters.main);
#if PY_VERSION_HEX < 0x030C0000
  AT("runtime.gil", _PyRuntimeState, ceval.gil);
#endif
#if PY_VERSION_HEX < 0x03090000
  AT("runtime.gc_collecting", _PyRuntimeState, gc.collecting);
#endif
#ifdef Py_GIL_DISABLED
  AT("gil.enabled", struct _gil_runtime_state, enabled);
#endif
  AT("gil.last_holder", struct _gil_runtime_state, last_holder);
  AT("gil.locked", struct _gil_runtime_state, locked);
  AT("gil.switch_number", struct _gil_runtime_state, switch_number);
}

static void Interpreter(void) {
  AT("interp.next", PyInterpreterState, next);
  AT("interp.id", PyInterpreterState, id);
#if PY_VERSION_HEX < 0x030B0000
  AT("interp.threads_head", PyInterpreterState, tstate_head);
#else
  AT("interp.threads_head", PyInterpreterState, threads.head);
#endif
#if PY_VERSION_HEX < 0x030C0000
  AT("interp.modules", PyInterpreterState, modules);
#else
  AT("interp.modules", PyInterpreterState, imports.modules);
  AT("interp.gil_pointer", PyInterpreterState, ceval.gil);
#endif
#if PY_VERSION_HEX >= 0x03090000
  AT("interp.gc_collecting", PyInterpreterState, gc.collecting);
#endif
#if PY_VERSION_HEX >= 0x030E0000
  AT("interp.threads_main", PyInterpreterState, threads.main);
  AT("interp.code_generation", PyInterpreterState, _code_object_generation);
#endif
#if PY_VERSION_HEX >= 0x030F0000
  AT("interp.gc_frame", PyInterpreterState, gc.frame);
#endif
}

static void Thread(void) {
  AT("thread.prev", PyThreadState, prev);
  AT("thread.next", PyThreadState, next);
  AT("thread.interp", PyThreadState, interp);
  AT("thread.id", PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030B0000
  AT("thread.frame", PyThreadState, frame);
  AT("thread.recursion_depth", PyThreadState, recursion_depth);
#elif PY_VERSION_HEX < 0x030D0000
  AT("thread.cframe", PyThreadState, cframe);
  AT("cframe.current_frame", _PyCFrame, current_frame);
#else
  AT("thread.frame", PyThreadState, current_frame);
#endif
#if PY_VERSION_HEX >= 0x030B0000
  AT("thread.native_id", PyThreadState, native_thread_id);
#endif
#if PY_VERSION_HEX >= 0x030C0000
  AT("thread.status", PyThreadState, _status);
#endif
#if PY_VERSION_HEX >= 0x030F0000
  AT("thread.base_frame", PyThreadState, base_frame);
  AT("thread.holds_gil", PyThreadState, holds_gil);
  AT("thread.gil_requested", PyThreadState, gil_requested);
#endif
  VALUE("sizeof.thread", sizeof(PyThreadState));
}

static void Frame(void) {
#if PY_VERSION_HEX < 0x030B0000
  AT("frame.code", PyFrameObject, f_code);
  AT("frame.previous", PyFrameObject, f_back);
  AT("frame.instruction", PyFrameObject, f_lasti);
  AT("frame.locals", PyFrameObject, f_localsplus);
#else
#if PY_VERSION_HEX < 0x030D0000
  AT("frame.code", _PyInterpreterFrame, f_code);
  AT("frame.instruction", _PyInterpreterFrame, prev_instr);
#else
  AT("frame.code", _PyInterpreterFrame, f_executable);
  AT("frame.instruction", _PyInterpreterFrame, instr_ptr);
#endif
  AT("frame.previous", _PyInterpreterFrame, previous);
  AT("frame.owner", _PyInterpreterFrame, owner);
  AT("frame.locals", _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX >= 0x030C0000
  VALUE("frame.owner_no_python", FRAME_OWNED_BY_FRAME_OBJECT + 1);
#endif
#endif
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
  AT("frame.tlbc_index", _PyInterpreterFrame, tlbc_index);
#endif
#if PY_VERSION_HEX < 0x030B0000
  VALUE("sizeof.frame", offsetof(PyFrameObject, f_localsplus));
#else
  VALUE("sizeof.frame", sizeof(_PyInterpreterFrame));
#endif
}

static void Code(void) {
  AT("code.filename", PyCodeObject, co_filename);
  AT("code.name", PyCodeObject, co_name);
  AT("code.first_line", PyCodeObject, co_firstlineno);
  AT("code.arg_count", PyCodeObject, co_argcount);
  AT("code.kwonly_arg_count", PyCodeObject, co_kwonlyargcount);
  AT("code.flags", PyCodeObject, co_flags);
#if PY_VERSION_HEX < 0x030A0000
  AT("code.line_table", PyCodeObject, co_lnotab);
#else
  AT("code.line_table", PyCodeObject, co_linetable);
#endif
#if PY_VERSION_HEX < 0x030B0000
  AT("code.local_names", PyCodeObject, co_varnames);
  AT("code.free_names", PyCodeObject, co_freevars);
  AT("code.cell_names", PyCodeObject, co_cellvars);
  AT("code.bytes", PyCodeObject, co_code);
#else
  AT("code.qualname", PyCodeObject, co_qualname);
  AT("code.local_names", PyCodeObject, co_localsplusnames);
  AT("code.local_kinds", PyCodeObject, co_localspluskinds);
  AT("code.instructions", PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
  AT("code.tlbc", PyCodeObject, co_tlbc);
#endif
  VALUE("sizeof.code", sizeof(PyCodeObject));
}

static void Objects(void) {
  AT("object.type", PyObject, ob_type);
  AT("var.size", PyVarObject, ob_size);
  AT("type.name", PyTypeObject, tp_name);
  AT("type.flags", PyTypeObject, tp_flags);
  AT("type.basic_size", PyTypeObject, tp_basicsize);
  AT("type.dict_offset", PyTypeObject, tp_dictoffset);
  AT("type.cached_keys", PyHeapTypeObject, ht_cached_keys);
  AT("bytes.size", PyVarObject, ob_size);
  AT("bytes.data", PyBytesObject, ob_sval);
  AT("tuple.size", PyVarObject, ob_size);
  AT("tuple.items", PyTupleObject, ob_item);
  AT("list.size", PyVarObject, ob_size);
  AT("list.items", PyListObject, ob_item);
  AT("float.value", PyFloatObject, ob_fval);
#if PY_VERSION_HEX < 0x030C0000
  AT("long.size", PyVarObject, ob_size);
  AT("long.digits", PyLongObject, ob_digit);
#else
  AT("long.size", PyLongObject, long_value.lv_tag);
  AT("long.digits", PyLongObject, long_value.ob_digit);
#endif
}

static void Dictionaries(void) {
  AT("dict.keys", PyDictObject, ma_keys);
  AT("dict.values", PyDictObject, ma_values);
  AT("dict.used", PyDictObject, ma_used);
#if PY_VERSION_HEX >= 0x030B0000
  AT("keys.log2_size", PyDictKeysObject, dk_log2_size);
  AT("keys.log2_index_bytes", PyDictKeysObject, dk_log2_index_bytes);
  AT("keys.kind", PyDictKeysObject, dk_kind);
  AT("keys.entry_count", PyDictKeysObject, dk_nentries);
  AT("keys.indices", PyDictKeysObject, dk_indices);
  AT("values.items", struct _dictvalues, values);
  VALUE("keys.kind_general", DICT_KEYS_GENERAL);
#endif
#if PY_VERSION_HEX >= 0x030D0000
  AT("values.valid", struct _dictvalues, valid);
  VALUE("managed_dict", -MANAGED_DICT_OFFSET);
#elif PY_VERSION_HEX >= 0x030B0000
  VALUE("managed_dict", 3 * sizeof(void*));
#endif
}

static void Strings(void) {
  AT("string.length", PyASCIIObject, length);
  AT("string.state", PyASCIIObject, state);
  VALUE("string.ascii_data", sizeof(PyASCIIObject));
  VALUE("string.compact_data", sizeof(PyCompactUnicodeObject));
  AT("string.data_pointer", PyUnicodeObject, data);
  PyASCIIObject ascii;
  memset(&ascii, 0, sizeof ascii);
  ascii.state.kind = 7;
  unsigned int state;
  memcpy(&state, &ascii.state, sizeof state);
  VALUE("string.kind_shift", __builtin_ctz(state));
  memset(&ascii, 0, sizeof ascii);
  ascii.state.compact = 1;
  memcpy(&state, &ascii.state, sizeof state);
  VALUE("string.compact_bit", __builtin_ctz(state));
  memset(&ascii, 0, sizeof ascii);
  ascii.state.ascii = 1;
  memcpy(&state, &ascii.state, sizeof state);
  VALUE("string.ascii_bit", __builtin_ctz(state));
}

#if PY_VERSION_HEX >= 0x030E0000
static struct _Py_DebugOffsets debug_offsets = _Py_DebugOffsets_INIT("xdebugpy");
#elif PY_VERSION_HEX >= 0x030D0000
static _PyRuntimeState runtime = _PyRuntimeState_INIT(runtime, _Py_Debug_Cookie);  // only .debug_offsets is used
#define debug_offsets runtime.debug_offsets
#endif

static void DebugOffsets(void) {
#if PY_VERSION_HEX >= 0x030D0000
  printf("debug_offsets ");
  const unsigned char* bytes = (const unsigned char*)&debug_offsets;
  for (size_t i = 0; i < sizeof debug_offsets; ++i) {
    printf("%02x", bytes[i]);
  }
  printf("\n");
#endif
}

int main(void) {
  printf("version %u\n", (unsigned)PY_VERSION_HEX);
  Runtime();
  Interpreter();
  Thread();
  Frame();
  Code();
  Objects();
  Dictionaries();
  Strings();
  DebugOffsets();
  return 0;
}
