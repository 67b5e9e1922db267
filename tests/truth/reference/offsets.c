// Prints where CPython keeps what the reference reads, according to the headers of one interpreter: one "name kind
// value" a line. Compiled against those headers by tests/truth/reference_sampler.py, run once. From 3.13 on most lines
// are positions within _Py_DebugOffsets ("told"): the value itself is read from the process.
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "internal/pycore_pystate.h"
#if PY_VERSION_HEX >= 0x03090000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#else
#include <frameobject.h>
#endif

#define FIXED(name, value) printf("%s fixed %zu\n", name, (size_t)(value))
#define TOLD(name, member) printf("%s told %zu\n", name, offsetof(struct _Py_DebugOffsets, member))

// The bits of one field in the word that holds the state of a str.
#define STATE_BITS(name, field, ones)                             \
  do {                                                            \
    PyASCIIObject text;                                           \
    uint32_t word;                                                \
    memset(&text, 0, sizeof text);                                \
    text.state.field = (ones);                                    \
    memcpy(&word, (char *)&text + offsetof(PyASCIIObject, state), 4); \
    FIXED(name, word);                                            \
  } while (0)

static void Strings(void) {
  FIXED("str.length", offsetof(PyASCIIObject, length));
  FIXED("str.state", offsetof(PyASCIIObject, state));
  FIXED("str.ascii_text", sizeof(PyASCIIObject));
  FIXED("str.compact_text", sizeof(PyCompactUnicodeObject));
  STATE_BITS("str.kind_bits", kind, 7);
  STATE_BITS("str.compact_bit", compact, 1);
  STATE_BITS("str.ascii_bit", ascii, 1);
}

#if PY_VERSION_HEX >= 0x030D0000
static void Reported(void) {
  TOLD("runtime.interpreters", runtime_state.interpreters_head);
  TOLD("interpreter.next", interpreter_state.next);
  TOLD("interpreter.threads", interpreter_state.threads_head);
  TOLD("thread.next", thread_state.next);
  TOLD("thread.native_id", thread_state.native_thread_id);
  TOLD("thread.frame", thread_state.current_frame);
  TOLD("thread.chunk", thread_state.datastack_chunk);
  TOLD("frame.back", interpreter_frame.previous);
  TOLD("frame.code", interpreter_frame.executable);
  TOLD("frame.owner", interpreter_frame.owner);
  TOLD("code.file", code_object.filename);
  TOLD("code.name", code_object.qualname);
  TOLD("code.line", code_object.firstlineno);
  TOLD("object.type", pyobject.ob_type);
}
#else
static void Reported(void) {
  FIXED("runtime.interpreters", offsetof(_PyRuntimeState, interpreters.head));
#if PY_VERSION_HEX >= 0x030B0000
  FIXED("interpreter.next", offsetof(PyInterpreterState, next));
  FIXED("interpreter.threads", offsetof(PyInterpreterState, threads.head));
  FIXED("thread.native_id", offsetof(PyThreadState, native_thread_id));
  FIXED("thread.cframe", offsetof(PyThreadState, cframe));
  FIXED("thread.frame", offsetof(_PyCFrame, current_frame));
  FIXED("thread.chunk", offsetof(PyThreadState, datastack_chunk));
  FIXED("frame.back", offsetof(_PyInterpreterFrame, previous));
  FIXED("frame.code", offsetof(_PyInterpreterFrame, f_code));
  FIXED("frame.owner", offsetof(_PyInterpreterFrame, owner));
  FIXED("code.name", offsetof(PyCodeObject, co_qualname));
#else
  FIXED("interpreter.next", offsetof(struct _is, next));
  FIXED("interpreter.threads", offsetof(struct _is, tstate_head));
  FIXED("thread.pthread", offsetof(PyThreadState, thread_id));
  FIXED("thread.frame", offsetof(PyThreadState, frame));
  FIXED("frame.back", offsetof(PyFrameObject, f_back));
  FIXED("frame.code", offsetof(PyFrameObject, f_code));
  FIXED("code.name", offsetof(PyCodeObject, co_name));
#endif
  FIXED("thread.next", offsetof(PyThreadState, next));
  FIXED("code.file", offsetof(PyCodeObject, co_filename));
  FIXED("code.line", offsetof(PyCodeObject, co_firstlineno));
  FIXED("object.type", offsetof(PyObject, ob_type));
}
#endif

int main(void) {
  FIXED("version", PY_VERSION_HEX);
#if PY_VERSION_HEX >= 0x030D0000
  FIXED("told.version", offsetof(struct _Py_DebugOffsets, version));
  FIXED("told.size", sizeof(struct _Py_DebugOffsets));
#endif
#ifdef Py_GIL_DISABLED
  FIXED("free_threaded", 1);
#endif
#if PY_VERSION_HEX >= 0x030B0000
  FIXED("frame.size", sizeof(_PyInterpreterFrame));
#else
  FIXED("frame.size", offsetof(PyFrameObject, f_builtins));
#endif
  FIXED("code.size", sizeof(PyCodeObject));
  Strings();
  Reported();
  return 0;
}
