// Machine code by which a queued call runs a Python text and lets its exception propagate. So an exception that a
// signal handler of the job raised meanwhile is raised where the job was. The interpreter's own function for a text
// (PyRun_SimpleString) would print it, and a SystemError would be raised instead.
//
// Pure data; a file per architecture. The code runs in a thread of the target with the GIL held, called as int(void*)
// with the address of a context. It contains no addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ptrace_prof {

// In the target's data; the instructions contain these offsets. The functions have their names in CPython.
struct TextThunkContext {
  uint64_t add_module = 0;      // PyImport_AddModule
  uint64_t get_dictionary = 0;  // PyModule_GetDict
  uint64_t run_string = 0;      // PyRun_StringFlags
  uint64_t release = 0;         // Py_DecRef
  uint64_t text = 0;            // address of the text
  uint32_t state = 0;           // ThunkState (frame_thunk.h)
  uint32_t start = 257;         // Py_file_input
  std::array<char, 16> module{'_', '_', 'm', 'a', 'i', 'n', '_', '_'};
};
static_assert(sizeof(TextThunkContext) == 64);

// Returns an empty span on an unsupported architecture.
std::span<const uint8_t> TextThunk();

}  // namespace ptrace_prof
