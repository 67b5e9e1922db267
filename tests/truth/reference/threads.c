#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

// Where glibc keeps the thread ID in the memory at pthread_self(). CPython < 3.11 has no other identifier of a thread.
#if defined(__x86_64__)
enum { kTidInPthread = 720 };
#else
enum { kTidInPthread = 208 };
#endif

static bool ReadThread(pid_t pid, const struct Layout *layout, struct Thread *thread, uint64_t *next) {
  uint64_t frame_holder = 0;
  struct Piece pieces[4] = {{thread->state + (uint64_t)layout->thread_next, next, 8}};
  int count = 1;
  uint64_t pthread = 0;
  if (layout->thread_native_id != kAbsent) {
    pieces[count++] = (struct Piece){thread->state + (uint64_t)layout->thread_native_id, &thread->inner, 8};
  } else {
    pieces[count++] = (struct Piece){thread->state + (uint64_t)layout->thread_pthread, &pthread, 8};
  }
  long place = layout->thread_cframe != kAbsent ? layout->thread_cframe : layout->thread_frame;
  pieces[count++] = (struct Piece){thread->state + (uint64_t)place, &frame_holder, 8};
  thread->chunk = 0;
  if (layout->thread_chunk != kAbsent) {
    pieces[count++] = (struct Piece){thread->state + (uint64_t)layout->thread_chunk, &thread->chunk, 8};
  }
  if (!ReadPieces(pid, pieces, count)) return false;
  thread->frame = frame_holder;
  if (layout->thread_cframe != kAbsent &&
      !ReadMemory(pid, frame_holder + (uint64_t)layout->thread_frame, &thread->frame, 8)) {
    return false;
  }
  if (layout->thread_native_id == kAbsent) {
    int tid = 0;
    if (!ReadMemory(pid, pthread + kTidInPthread, &tid, sizeof tid)) return false;
    thread->inner = tid;
  }
  return true;
}

int ListThreads(pid_t pid, uint64_t runtime, const struct Layout *layout, struct Thread *threads) {
  uint64_t interpreter = 0;
  int count = 0;
  if (!ReadMemory(pid, runtime + (uint64_t)layout->runtime_interpreters, &interpreter, 8)) return -1;
  for (int many = 0; interpreter && many < 64; ++many) {
    uint64_t state = 0;
    if (!ReadMemory(pid, interpreter + (uint64_t)layout->interpreter_threads, &state, 8)) return -1;
    while (state && count < kMaxThreads) {
      struct Thread *thread = &threads[count++];
      memset(thread, 0, sizeof *thread);
      thread->state = state;
      if (!ReadThread(pid, layout, thread, &state)) return -1;
    }
    if (!ReadMemory(pid, interpreter + (uint64_t)layout->interpreter_next, &interpreter, 8)) return -1;
  }
  return count;
}

// The innermost ID of a thread: the last number in the line NSpid of its status.
static long InnerId(pid_t pid, const char *tid) {
  char path[320], line[256];
  long inner = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, tid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "NSpid:", 6) == 0) inner = strtol(strrchr(line, '\t'), NULL, 10);
  }
  fclose(file);
  return inner;
}

void NameThreads(pid_t pid, struct Thread *threads, int count) {
  static struct {
    long inner;
    pid_t tid;
  } known[kMaxThreads];
  static int many;
  for (int pass = 0; pass < 2; ++pass) {
    bool all = true;
    for (int index = 0; index < count; ++index) {
      threads[index].tid = 0;
      for (int entry = 0; entry < many; ++entry) {
        if (known[entry].inner == threads[index].inner) threads[index].tid = known[entry].tid;
      }
      all = all && threads[index].tid;
    }
    if (all || pass) return;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (!folder) return;
    many = 0;
    for (struct dirent *entry; (entry = readdir(folder)) && many < kMaxThreads;) {
      if (entry->d_name[0] == '.') continue;
      known[many].inner = InnerId(pid, entry->d_name);
      known[many++].tid = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(folder);
  }
}
