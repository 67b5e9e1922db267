// truth_reference PID RUNTIME CODE_TYPE LAYOUT SECONDS INTERVAL_US SEED: samples, then prints functions, stacks and
// totals.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "reference.h"

enum { kLateNs = 200000, kMaxPauses = 1 << 20 };

static struct {
  long instants, taken, late, passed, no_stop, unread, changed;
} account;
static int64_t pauses[kMaxPauses];
static long pause_count;
static uint64_t dice;

int64_t NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static uint64_t Draw(void) {  // splitmix64
  uint64_t word = dice += 0x9E3779B97F4A7C15u;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
  word = (word ^ word >> 27) * 0x94D049BB133111EBu;
  return word ^ word >> 31;
}

// From half an interval to one and a half.
static int64_t Gap(int64_t interval) { return interval / 2 + (int64_t)(Draw() % (uint64_t)interval); }

// So that no thread is always the first to be stopped.
static void Shuffle(struct Thread *threads, int count) {
  for (int index = count - 1; index > 0; --index) {
    int other = (int)(Draw() % (uint64_t)(index + 1));
    struct Thread kept = threads[index];
    threads[index] = threads[other];
    threads[other] = kept;
  }
}

struct Target {
  pid_t pid;
  uint64_t runtime, code_type;
  struct Layout layout;
};

static struct Thread *Stopped(struct Thread *threads, int count, uint64_t state) {
  for (int index = 0; index < count; ++index) {
    if (threads[index].state == state && threads[index].stopped) return &threads[index];
  }
  return NULL;
}

// Under the stop: counts the stack of each stopped thread. `now` gets the list of current threads.
static int Take(const struct Target *target, struct Thread *threads, int count, struct Thread *now, long times) {
  static int functions[kMaxThreads][kMaxFrames];
  int depths[kMaxThreads];
  int many = ListThreads(target->pid, target->runtime, &target->layout, now);
  for (int index = 0; index < many; ++index) {
    depths[index] = 0;
    struct Thread *held = Stopped(threads, count, now[index].state);
    if (!held || held->inner != now[index].inner) {
      ++account.changed;  // it began after the last instant
      continue;
    }
    now[index].tid = held->tid;
    depths[index] = ReadStack(target->pid, target->code_type, &target->layout, &now[index], functions[index]);
    if (depths[index] < 0) ++account.unread;
  }
  LetGo(threads, count);
  for (int index = 0; index < many; ++index) {
    if (depths[index] > 0) CountStack(now[index].tid, functions[index], depths[index], times);
  }
  ++account.taken;
  return many;
}

static int ByLength(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

static void PrintAccount(void) {
  struct rusage used;
  int64_t sum = 0;
  getrusage(RUSAGE_SELF, &used);
  qsort(pauses, (size_t)pause_count, sizeof *pauses, ByLength);
  for (long index = 0; index < pause_count; ++index) sum += pauses[index];
  printf("account instants %ld taken %ld late %ld passed %ld no_stop %ld unread %ld changed %ld\n", account.instants,
         account.taken, account.late, account.passed, account.no_stop, account.unread, account.changed);
  printf("pauses p50 %ld p90 %ld longest %ld sum %ld\n", pause_count ? (long)pauses[pause_count / 2] : 0,
         pause_count ? (long)pauses[pause_count * 9 / 10] : 0, pause_count ? (long)pauses[pause_count - 1] : 0, (long)sum);
  printf("cpu_us %ld\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void SleepUntil(int64_t when) {
  struct timespec until = {when / 1000000000LL, when % 1000000000LL};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void Sample(const struct Target *target, int64_t seconds_ns, int64_t interval) {
  static struct Thread lists[2][kMaxThreads];
  struct Thread *threads = lists[0], *now = lists[1];
  int count = ListThreads(target->pid, target->runtime, &target->layout, threads);
  int64_t instant = NowNs() + Gap(interval), end = NowNs() + seconds_ns;
  while (instant < end && count >= 0) {
    NameThreads(target->pid, threads, count);
    Shuffle(threads, count);
    SleepUntil(instant);
    int64_t began = NowNs();
    ++account.instants;
    if (began - instant > kLateNs) ++account.late;
    bool all = StopThreads(threads, count);
    if (!all) ++account.no_stop;
    long times = 1;
    int64_t stood = NowNs();
    instant += Gap(interval);
    // A single thread that was off the CPU until now has not moved, so its stack is counted for those instants too.
    for (; instant <= stood; instant += Gap(interval)) {
      if (count == 1) ++times, ++account.instants;
      else ++account.passed;
    }
    int many = Take(target, threads, count, now, times);
    int64_t resumed = NowNs();
    if (pause_count < kMaxPauses) pauses[pause_count++] = resumed - stood;
    for (; instant <= resumed; instant += Gap(interval)) ++account.passed;  // while we held it: skipped
    struct Thread *kept = threads;
    threads = now;
    now = kept;
    count = many;
  }
}

int main(int argc, char **argv) {
  if (argc != 8) {
    fprintf(stderr, "usage: %s PID RUNTIME CODE_TYPE LAYOUT SECONDS INTERVAL_US SEED\n", argv[0]);
    return 2;
  }
  static struct Target target;
  target.pid = (pid_t)strtol(argv[1], NULL, 10);
  target.runtime = strtoull(argv[2], NULL, 0);
  target.code_type = strtoull(argv[3], NULL, 0);
  dice = strtoull(argv[7], NULL, 10);
  if (!ReadLayout(argv[4], target.pid, target.runtime, &target.layout)) {
    fprintf(stderr, "no layout for process %d in %s\n", target.pid, argv[4]);
    return 1;
  }
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});  // if permitted
  Sample(&target, (int64_t)(strtod(argv[5], NULL) * 1e9), strtol(argv[6], NULL, 10) * 1000);
  PrintFunctions();
  PrintCounts();
  PrintAccount();
  return 0;
}
