// Prints where the headers of a CPython have its pending calls and the breaker: "any|main anchor offset", a line each.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_pystate.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif

#define AT(name, type, member) printf("%s %zu\n", name, offsetof(type, member))

int main(void) {
#if PY_VERSION_HEX < 0x03090000
  AT("main.runtime", _PyRuntimeState, ceval.pending);
  AT("breaker.runtime", _PyRuntimeState, ceval.eval_breaker);
#elif PY_VERSION_HEX < 0x030C0000
  AT("main.interpreter", PyInterpreterState, ceval.pending);
#else
  AT("any.interpreter", PyInterpreterState, ceval.pending);
  AT("main.runtime", _PyRuntimeState, ceval.pending_mainthread);
#endif
#if PY_VERSION_HEX >= 0x030D0000
  AT("breaker.thread", PyThreadState, eval_breaker);
#elif PY_VERSION_HEX >= 0x03090000
  AT("breaker.interpreter", PyInterpreterState, ceval.eval_breaker);
#endif
#if PY_VERSION_HEX < 0x030D0000
  AT("eval_frame", PyInterpreterState, eval_frame);
  AT("lock", struct _pending_calls, lock);
  AT("count", struct _pending_calls, calls_to_do);
  AT("next", struct _pending_calls, last);
#else
  AT("lock", struct _pending_calls, mutex);
  AT("count", struct _pending_calls, npending);
  AT("max", struct _pending_calls, max);
  AT("next", struct _pending_calls, next);
#endif
  AT("calls", struct _pending_calls, calls);
  AT("first", struct _pending_calls, first);
  printf("call_size %zu\n", sizeof(((struct _pending_calls*)0)->calls[0]));
  printf("slots %zu\n", sizeof(((struct _pending_calls*)0)->calls) / sizeof(((struct _pending_calls*)0)->calls[0]));
  return 0;
}
