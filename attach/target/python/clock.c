// The clock of records if the TSC is not usable.
#include "attach/target/python/clock.h"

uint64_t pp_nanoseconds(void) {
  struct {
    int64_t seconds, nanoseconds;
  } time = {0, 0};
  PP_FUNCTION(int (*)(int, void*), clock_gettime)(1 /* CLOCK_MONOTONIC */, &time);
  return (uint64_t)time.seconds * 1000000000ull + (uint64_t)time.nanoseconds;
}
