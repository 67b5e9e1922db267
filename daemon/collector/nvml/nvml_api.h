/* Our own declarations of the few functions of NVIDIA's management library that we call. Names and numbers are those of
 * its documented binary interface, which has not changed since 2011. The build needs nothing of NVIDIA.
 *
 * Every function returns 0 for success. All are looked up by name at run time; those that an old library lacks are
 * null.
 */
#pragma once

#include <stdint.h>

enum { PP_NVML_CLOCK_SM = 1, PP_NVML_CLOCK_MEMORY = 2, PP_NVML_SENSOR_GPU = 0 };

struct pp_nvml_rates {
  unsigned gpu; /* percent of the last sampling period in which a kernel ran */
  unsigned memory;
};

struct pp_nvml_memory {
  unsigned long long total; /* bytes */
  unsigned long long free;
  unsigned long long used;
};

/* The struct of nvmlDeviceGetComputeRunningProcesses_v2. The later version of that call uses the same, except in a few
 * drivers of the 535 series; so the earlier version is tried first. */
struct pp_nvml_process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct pp_nvml_api {
  int (*init)(void);
  int (*shutdown)(void);
  const char* (*error_text)(int result);
  int (*count)(unsigned* count);
  int (*handle)(unsigned index, void** device);
  int (*name)(void* device, char* text, unsigned size);
  int (*rates)(void* device, struct pp_nvml_rates* rates);
  int (*clock)(void* device, unsigned which, unsigned* mhz);
  int (*memory)(void* device, struct pp_nvml_memory* memory);
  int (*processes)(void* device, unsigned* count, struct pp_nvml_process* processes);
  int (*processes_later)(void* device, unsigned* count, struct pp_nvml_process* processes);
  int (*power)(void* device, unsigned* milliwatts);
  int (*temperature)(void* device, unsigned sensor, unsigned* celsius);
};
