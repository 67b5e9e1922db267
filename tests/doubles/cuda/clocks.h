// The clocks of the doubles, in nanoseconds.
#ifndef TESTS_DOUBLES_CUDA_CLOCKS_H
#define TESTS_DOUBLES_CUDA_CLOCKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t monotonic_now(void) { return clock_now(CLOCK_MONOTONIC); }

static inline void sleep_until(uint64_t monotonic) {
  struct timespec when = {(time_t)(monotonic / 1000000000u), (long)(monotonic % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0) {
  }
}

#endif
