// The instructions by which a queued call runs a text of Python and lets an exception of it pass: as a call in the
// queue may, so that what a signal handler of the job raised meanwhile is raised where the job was. The interpreter's
// own function for a text (PyRun_SimpleString) would print it, and have a SystemError raised in its stead.
//
// Pure data; a file per architecture. They run in a thread of the target, called as int(void*) with the address of a
// context, with its lock held. They hold no address themselves.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ptrace_prof {

// In the target's data; the instructions know the offsets. What they call is named as in CPython.
struct TextThunkContext {
  uint64_t add_module = 0;      // PyImport_AddModule
  uint64_t get_dictionary = 0;  // PyModule_GetDict
  uint64_t run_string = 0;      // PyRun_StringFlags
  uint64_t release = 0;         // Py_DecRef
  uint64_t text = 0;            // its address
  uint32_t state = 0;           // ThunkState (frame_thunk.h)
  uint32_t start = 257;         // Py_file_input
  std::array<char, 16> module{'_', '_', 'm', 'a', 'i', 'n', '_', '_'};
};
static_assert(sizeof(TextThunkContext) == 64);

// Empty: not known for this machine.
std::span<const uint8_t> TextThunk();

}  // namespace ptrace_prof
