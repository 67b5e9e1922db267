// The reference sampler of tests/truth has its own reader of CPython's frames, so that a mistake of ptrace-prof is not
// repeated here. At instants drawn beforehand it stops ALL Python threads, whatever they do. To stop only running
// threads would sample waits a little earlier than work, which is a bias where threads change often. Slow and simple.
// One process, one thread, one target; it is not part of the product.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { kMaxFrames = 8192, kMaxThreads = 512, kMaxCode = 512, kAbsent = -1 };

// Where things are: read from the output of offsets.c, and from the target itself (3.13 and later).
struct Layout {
  long version, reported_version, reported_size, free_threaded;
  long runtime_interpreters, interpreter_next, interpreter_threads;
  long thread_next, thread_native_id, thread_pthread, thread_cframe, thread_frame, thread_chunk;
  long frame_size, frame_back, frame_code, frame_owner;
  long code_size, code_file, code_name, code_line, object_type;
  long str_length, str_state, str_ascii_text, str_compact_text, str_kind_bits, str_compact_bit, str_ascii_bit;
};
bool ReadLayout(const char* path, pid_t pid, uint64_t runtime, struct Layout* layout);

// memory.c
bool ReadMemory(pid_t pid, uint64_t address, void* into, size_t size);
// Many pieces in one call where the kernel allows it; false unless all were read.
struct Piece {
  uint64_t address;
  void* into;
  size_t size;
};
bool ReadPieces(pid_t pid, const struct Piece* pieces, int count);

// threads.c: the threads of all interpreters, as CPython lists them.
struct Thread {
  uint64_t state;  // PyThreadState
  long inner;      // its ID in the target's own PID namespace
  pid_t tid;       // its ID in our namespace; 0 if not known
  uint64_t frame, chunk;
  bool stopped;
};
int ListThreads(pid_t pid, uint64_t runtime, const struct Layout* layout, struct Thread* threads);
void NameThreads(pid_t pid, struct Thread* threads, int count);  // fills in .tid

// stop.c
bool StopThreads(struct Thread* threads, int count);  // false: a thread could not be stopped (and has not ended)
void LetGo(struct Thread* threads, int count);

// stack.c: the functions of one thread, innermost first, as numbers of names.c. -1: could not be read.
int ReadStack(pid_t pid, uint64_t code_type, const struct Layout* layout, const struct Thread* thread, int* functions);

// names.c: functions are identified by name, file and first line. A code object is read in every sample, because its
// address may be another function's by now.
struct CodeFacts {
  uint64_t address, file, name;
  int line;
};
int FunctionOf(pid_t pid, const struct Layout* layout, const struct CodeFacts* facts);  // -1: unreadable
bool IsShim(int function);
void PrintFunctions(void);

// counts.c
void CountStack(pid_t tid, const int* functions, int depth, long times);
void PrintCounts(void);

int64_t NowNs(void);
