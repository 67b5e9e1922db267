// A process that imitates CPython 3.13 and rewrites its own interpreter structures at random, for ever.
//
// It exports _PyRuntime with a correct _Py_DebugOffsets (order of CPython 3.13's pycore_runtime.h) for structures that
// are in an arena. One thread writes into them without pause: valid values, so that a reader gets deep into them, and
// hostile ones: cycles, pointers to themselves, to the wrong kind of object, to the kernel, to nowhere, into a huge
// mapping of zeros, absurd lengths. It also maps and unmaps pages under the reader. Arguments: the seed, and the ID of
// another process's thread, which it claims as its own.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint64_t Word;
enum { kObjectSize = 512, kCodeHeader = 256, kThreads = 4 };

// Each kind has a pool of objects of kObjectSize bytes; an interpreter takes several.
enum Kind { kInterp, kThread, kFrame, kCode, kString, kBytes, kType, kDict, kTuple, kKinds };
static const int kCounts[kKinds] = {4, 16, 512, 64, 128, 64, 4, 16, 32};

// Offsets in our structures, in bytes; the object header (refcount, type) has 16 bytes everywhere.
enum {
  kRuntimeFinalizing = 1024, kRuntimeHead = 1032, kRuntimeMain = 1040, kRuntimeSize = 2048,
  kInterpId = 0, kInterpNext = 8, kInterpThreads = 16, kInterpGc = 32, kInterpModules = 160, kInterpSysdict = 168,
  kInterpBuiltins = 176, kInterpGilPointer = 184, kInterpGil = 192,
  kThreadPrev = 0, kThreadNext = 8, kThreadInterp = 16, kThreadStatus = 32, kThreadFrame = 72, kThreadId = 152,
  kThreadNative = 160, kThreadChunk = 232,
  kFrameCode = 0, kFramePrevious = 8, kFrameInstr = 56, kFrameOwner = 70, kFrameLocals = 72, kFrameSize = 80,
  kCodeFlags = 48, kCodeArgs = 52, kCodeKwonly = 60, kCodeFirstLine = 68, kCodeLocalNames = 96, kCodeLocalKinds = 104,
  kCodeFilename = 112, kCodeName = 120, kCodeQualname = 128, kCodeLineTable = 136, kCodeInstructions = 200,
  kCodeSize = 208,
};

struct Runtime {
  Word offsets[256];  // _Py_DebugOffsets, 83 words
};
__attribute__((section(".PyRuntime"), visibility("default"), used)) struct Runtime _PyRuntime;

static char* arena;
static size_t arena_size;
static char* zeros;  // 64 GiB that cost nothing
static const Word kZerosSize = (Word)64 << 30;
static char* churned;  // a page that comes and goes
static Word tids[kThreads + 2];
static Word random_state;

static Word Random(void) {  // xorshift64*
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 2685821657736338717ull;
}
static Word Below(Word limit) { return Random() % limit; }

static char* Object(enum Kind kind, int index) {
  size_t before = 0;
  for (int k = 0; k < (int)kind; ++k) before += (size_t)kCounts[k];
  return arena + (before + (size_t)(index % kCounts[kind])) * kObjectSize;
}
static char* AnyOf(enum Kind kind) { return Object(kind, (int)Below((Word)kCounts[kind])); }
static char* Anything(void) { return AnyOf((enum Kind)Below(kKinds)); }

static void Put(char* object, size_t offset, Word value) {
  *(volatile Word*)(void*)(object + offset) = value;
}
static void PutInt(char* object, size_t offset, uint32_t value) {
  *(volatile uint32_t*)(void*)(object + offset) = value;
}
static Word At(const char* pointer) { return (Word)(uintptr_t)pointer; }

static void HealInterp(int i) {
  char* interp = Object(kInterp, i);
  Put(interp, kInterpId, (Word)i);
  Put(interp, kInterpNext, i + 1 < kCounts[kInterp] ? At(Object(kInterp, i + 1)) : 0);
  Put(interp, kInterpThreads, At(Object(kThread, i * 4)));
  Put(interp, kInterpModules, At(AnyOf(kDict)));
  Put(interp, kInterpGilPointer, At(interp + kInterpGil));
  Put(interp, kInterpGil + 8, At(AnyOf(kThread)));
  PutInt(interp, kInterpGil + 16, (uint32_t)Below(2));
  Put(interp, kInterpGil + 24, Random());
}
static void HealThread(int i) {
  char* thread = Object(kThread, i);
  Put(thread, kThreadPrev, i % 4 ? At(Object(kThread, i - 1)) : 0);
  Put(thread, kThreadNext, i % 4 < 3 ? At(Object(kThread, i + 1)) : 0);
  Put(thread, kThreadInterp, At(Object(kInterp, i / 4)));
  Put(thread, kThreadFrame, At(AnyOf(kFrame)));
  Put(thread, kThreadId, Random());
  Put(thread, kThreadNative, tids[Below(kThreads + 2)]);
}
static void HealFrame(int i) {
  char* frame = Object(kFrame, i);
  char* code = AnyOf(kCode);
  Put(frame, kFrameCode, At(code));
  Put(frame, kFramePrevious, i % 64 ? At(Object(kFrame, i - 1)) : 0);
  Put(frame, kFrameInstr, At(code + kCodeInstructions) + 2 * Below(100));
  frame[kFrameOwner] = (char)Below(4);
}
static void HealCode(int i) {
  char* code = Object(kCode, i);
  Put(code, 8, At(Object(kType, 0)));
  Put(code, 16, 100);
  Put(code, kCodeFilename, At(AnyOf(kString)));
  Put(code, kCodeName, At(AnyOf(kString)));
  Put(code, kCodeQualname, At(AnyOf(kString)));
  Put(code, kCodeLineTable, At(AnyOf(kBytes)));
  Put(code, kCodeLocalNames, At(AnyOf(kTuple)));
  Put(code, kCodeLocalKinds, At(AnyOf(kBytes)));
  PutInt(code, kCodeFirstLine, (uint32_t)Below(1000));
}
static void HealString(int i) {
  char* string = Object(kString, i);
  const Word length = 1 + Below(40);
  Put(string, 8, At(Object(kType, 1)));
  Put(string, 16, length);
  PutInt(string, 32, (uint32_t)((Below(10) ? 1 : 1 << Below(3)) << 2 | 1 << 5 | Below(2) << 6));
  for (Word c = 0; c < length; ++c) string[40 + c] = (char)('a' + Below(26));
}
static void HealBytes(int i) {
  char* bytes = Object(kBytes, i);
  const Word length = Below(400);
  Put(bytes, 16, length);
  for (Word c = 0; c < length; ++c) bytes[32 + c] = (char)(Random() | 0x80 * (c % 2 == 0));
}
static void HealContainer(enum Kind kind, int i) {
  char* object = Object(kind, i);
  Put(object, 8, At(AnyOf(kType)));
  Put(object, 16, Below(8));
  for (int slot = 0; slot < 8; ++slot) Put(object, 24 + 8 * (size_t)slot, At(Anything()));
}

static void HealType(int i) {
  static const char* const kNames[] = {"code", "str", "dict", "tuple"};
  HealContainer(kType, i);
  Put(Object(kType, i), 24, At(kNames[i % 4]));
}

static void Heal(enum Kind kind, int i) {
  switch (kind) {
    case kInterp: HealInterp(i); break;
    case kThread: HealThread(i); break;
    case kFrame: HealFrame(i); break;
    case kCode: HealCode(i); break;
    case kString: HealString(i); break;
    case kBytes: HealBytes(i); break;
    case kType: HealType(i); break;
    case kDict: case kTuple: case kKinds: HealContainer(kind, i); break;
  }
}
static void HealAll(void) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int i = 0; i < kCounts[kind]; ++i) Heal((enum Kind)kind, i);
  }
}

// The state at the beginning. Names and code are restored from it; frames and threads get new valid values.
static char* healthy;
static void Restore(enum Kind kind, int i) {
  char* object = Object(kind, i);
  if (kind == kFrame || kind == kThread) {
    Heal(kind, i);
  } else {
    memcpy(object, healthy + (object - arena), kObjectSize);
  }
}

static Word Evil(const char* self) {
  switch (Below(18)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return ~(Word)0;
    case 3: return (Word)1 << 63;
    case 4: return 0xffffffff81000000;
    case 5: return 0x7fffffffefff;
    case 6: return At(self);
    case 7: return At(arena) + Below(arena_size);
    case 8: return At(arena) + arena_size - Below(64);
    case 9: return At(zeros) + Below(kZerosSize);
    case 10: return At(zeros) + kZerosSize - Below(64);
    case 11: return At(churned) + Below(4096);
    case 12: return (Word)1 << Below(64);
    case 13: return 0x7fffffff;
    case 14: return At((char*)&_PyRuntime) + Below(sizeof _PyRuntime);
    case 15: return Random();
    default: return At(Anything());
  }
}

static void Vandalise(void) {
  char* object = Anything();
  const size_t offset = Below(4) ? 8 * Below(32) : Below(kObjectSize - 8);  // seldom unaligned
  Put(object, offset, Evil(object));
}
static void ChurnPage(void) {
  if (Below(2)) {
    munmap(churned, 4096);
  } else {
    mmap(churned, 4096, Below(2) ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
}
static void VandaliseRoots(void) {
  char* runtime = (char*)&_PyRuntime;
  Put(runtime, kRuntimeHead, Below(3) ? At(Object(kInterp, 0)) : Evil(runtime));
  Put(runtime, kRuntimeFinalizing, Below(8) ? 0 : Evil(runtime));
}

// Some wrong values that do not change: a reader takes them for the truth, and reads them to the end.
static void StandStill(void) {
  memcpy(arena, healthy, arena_size);
  Put((char*)&_PyRuntime, kRuntimeHead, At(Object(kInterp, 0)));
  Put((char*)&_PyRuntime, kRuntimeFinalizing, 0);
  for (Word lies = Below(60); lies > 0; --lies) Vandalise();
  usleep((useconds_t)Below(60000));
}
static void Rage(void) {
  for (Word left = Below(100000); left > 0; --left) {
    const enum Kind kind = (enum Kind)Below(kKinds);
    if (Below(3)) Restore(kind, (int)Below((Word)kCounts[kind])); else Vandalise();
    if (Below(4096) == 0) ChurnPage();
    if (Below(32768) == 0) VandaliseRoots();
  }
}
static void* Mutate(void* unused) {
  for (;;) {
    StandStill();
    Rage();
  }
  return unused;
}
static void* Wait(void* slot) {
  *(Word*)slot = (Word)syscall(SYS_gettid);
  for (;;) pause();
  return NULL;
}

static void DescribeOffsets(void) {
  const Word table[] = {
      0x030D00F0, 0,                                              // 3.13.0 final, not free-threaded
      kRuntimeSize, kRuntimeFinalizing, kRuntimeHead,             // runtime_state
      4096, kInterpId, kInterpNext, kInterpThreads, kInterpGc, kInterpModules, kInterpSysdict, kInterpBuiltins,
      kInterpGilPointer, kInterpGil, 0, kInterpGil + 16, kInterpGil + 8,
      304, kThreadPrev, kThreadNext, kThreadInterp, kThreadFrame, kThreadId, kThreadNative, kThreadChunk, kThreadStatus,
      kFrameSize, kFramePrevious, kFrameCode, kFrameInstr, kFrameLocals, kFrameOwner,
      kCodeSize, kCodeFilename, kCodeName, kCodeQualname, kCodeLineTable, kCodeFirstLine, kCodeArgs, kCodeLocalNames,
      kCodeLocalKinds, kCodeInstructions,
      16, 8,                                                      // pyobject
      416, 24, 88, 168,                                           // type_object: tp_name, tp_repr, tp_flags
      32, 24, 16,                                                 // tuple
      40, 24, 16,                                                 // list
      48, 32, 40,                                                 // dict
      24, 16,                                                     // float
      32, 16, 24,                                                 // long
      40, 16, 32,                                                 // bytes
      64, 32, 16, 40,                                             // unicode: state, length, asciiobject_size
      232, 60,                                                    // gc
  };
  memcpy(_PyRuntime.offsets, "xdebugpy", 8);
  memcpy(_PyRuntime.offsets + 1, table, sizeof table);
  Put((char*)&_PyRuntime, kRuntimeHead, At(Object(kInterp, 0)));
  Put((char*)&_PyRuntime, kRuntimeMain, At(Object(kInterp, 0)));
}

static char* Map(size_t size, int protection, int flags) {
  char* mapped = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (mapped == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  return mapped;
}

int main(int argc, char** argv) {
  random_state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15ull | 1;
  for (int kind = 0; kind < kKinds; ++kind) arena_size += (size_t)kCounts[kind] * kObjectSize;
  arena = Map(arena_size + 4096, PROT_READ | PROT_WRITE, 0);
  zeros = Map(kZerosSize, PROT_READ, MAP_NORESERVE);
  churned = Map(4096, PROT_READ | PROT_WRITE, 0);
  mprotect(arena + (arena_size + 4095) / 4096 * 4096, 4096, PROT_NONE);
  tids[kThreads] = (Word)getpid();
  tids[kThreads + 1] = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  pthread_t thread;
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread, NULL, Wait, &tids[i]);
  for (int i = 0; i < kThreads; ++i) {
    while (*(volatile Word*)&tids[i] == 0) usleep(100);
  }
  HealAll();
  healthy = Map(arena_size, PROT_READ | PROT_WRITE, 0);
  memcpy(healthy, arena, arena_size);
  DescribeOffsets();
  pthread_create(&thread, NULL, Mutate, NULL);
  const char* pact = getenv("PP_PACT_FD");
  if (pact != NULL && write(atoi(pact), "ready", 5) != 5) return 1;
  for (;;) pause();
}
