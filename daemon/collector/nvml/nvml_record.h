/* What the helper program reports to the collector about the GPUs: records of one size, one after another, on a pipe.
 *
 * C, for both ends. The reader treats every byte as hostile, because the helper runs a foreign library. */
#pragma once

#include <stdint.h>

#define PP_NVML_MAGIC 0x6c6d766eu
#define PP_NVML_MOST_DEVICES 64
#define PP_NVML_MOST_PROCESSES 256 /* per device */

enum pp_nvml_kind {
  PP_NVML_DEVICE = 1,  /* before its first sample: `text` is its name, values[0] its bytes of memory */
  PP_NVML_SAMPLE = 2,  /* values of one moment; those whose bit in `present` is set are valid */
  PP_NVML_PROCESS = 4, /* before its device's first sample: values[0] is the pid of a process that computes there */
  PP_NVML_REFUSED = 3, /* the last record: there are no counters, and `text` says why */
};

enum pp_nvml_counter {
  PP_NVML_UTILISATION,  /* percent of the time in which a kernel ran */
  PP_NVML_SM_CLOCK,     /* MHz */
  PP_NVML_MEMORY_CLOCK, /* MHz */
  PP_NVML_MEMORY_USED,  /* bytes */
  PP_NVML_POWER,        /* milliwatts */
  PP_NVML_TEMPERATURE,  /* degrees Celsius */
  PP_NVML_COUNTERS,
};

struct pp_nvml_record {
  uint32_t magic;
  uint16_t kind;   /* pp_nvml_kind */
  uint16_t device; /* device number, below PP_NVML_MOST_DEVICES */
  int64_t when_ns; /* CLOCK_MONOTONIC */
  uint32_t present;
  uint32_t unused;
  int64_t values[8];
  char text[96]; /* zero-terminated if it is shorter */
};
