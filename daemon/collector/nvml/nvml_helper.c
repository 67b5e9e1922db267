/* A helper program that reads the load of the GPUs from NVIDIA's management library a few times a second, and writes
 * struct pp_nvml_record to standard output. ptrace-prof itself is static and cannot load a library.
 *
 * The collector (nvml_counters.cc) starts it with its own user and rights. The argument is the pause between two
 * samples in milliseconds. Ends when the reader closes the pipe, or when its parent ends. Works with any version of
 * glibc (libc_names.c); reads no file and no environment itself. */
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/collector/nvml/nvml_api.h"
#include "daemon/collector/nvml/nvml_record.h"

static struct pp_nvml_api api;
static void* devices[PP_NVML_MOST_DEVICES];

/* First by name, like the job's own libraries; then at places of drivers that the loader does not search. */
static const char* const kPlaces[] = {
    "libnvidia-ml.so.1",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
};

static const struct {
  const char* name;
  size_t at;
  int optional;
} kCalls[] = {
    {"nvmlInit_v2", offsetof(struct pp_nvml_api, init), 0},
    {"nvmlShutdown", offsetof(struct pp_nvml_api, shutdown), 0},
    {"nvmlErrorString", offsetof(struct pp_nvml_api, error_text), 0},
    {"nvmlDeviceGetCount_v2", offsetof(struct pp_nvml_api, count), 0},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct pp_nvml_api, handle), 0},
    {"nvmlDeviceGetName", offsetof(struct pp_nvml_api, name), 1},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct pp_nvml_api, rates), 1},
    {"nvmlDeviceGetClockInfo", offsetof(struct pp_nvml_api, clock), 1},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct pp_nvml_api, memory), 1},
    {"nvmlDeviceGetComputeRunningProcesses_v2", offsetof(struct pp_nvml_api, processes), 1},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct pp_nvml_api, processes_later), 1},
    {"nvmlDeviceGetPowerUsage", offsetof(struct pp_nvml_api, power), 1},
    {"nvmlDeviceGetTemperature", offsetof(struct pp_nvml_api, temperature), 1},
};

static struct pp_nvml_record Record(enum pp_nvml_kind kind, unsigned device) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct pp_nvml_record record;
  memset(&record, 0, sizeof record);
  record.magic = PP_NVML_MAGIC;
  record.kind = (uint16_t)kind;
  record.device = (uint16_t)device;
  record.when_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  return record;
}

static void Append(struct pp_nvml_record* record, const char* text) {
  size_t at = 0;
  while (at < sizeof record->text && record->text[at] != 0) {
    ++at;
  }
  while (text != NULL && *text != 0 && at < sizeof record->text - 1) {
    record->text[at++] = *text++;
  }
}

/* A record is smaller than PIPE_BUF, so the pipe takes it as a whole. */
static int Write(const struct pp_nvml_record* record) {
  return write(STDOUT_FILENO, record, sizeof *record) == (ssize_t)sizeof *record;
}

static int Refuse(const char* what, const char* why) {
  struct pp_nvml_record record = Record(PP_NVML_REFUSED, 0);
  Append(&record, what);
  Append(&record, why);
  Write(&record);
  return 1;
}

static void* Load(void) {
  void* library = NULL;
  for (size_t i = 0; library == NULL && i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    library = dlopen(kPlaces[i], RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

static const char* Resolve(void* library) {
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    void* found = dlsym(library, kCalls[i].name);
    if (found == NULL && !kCalls[i].optional) {
      return kCalls[i].name;
    }
    memcpy((char*)&api + kCalls[i].at, &found, sizeof found);
  }
  return NULL;
}

static int Describe(unsigned index) {
  struct pp_nvml_record record = Record(PP_NVML_DEVICE, index);
  struct pp_nvml_memory memory;
  if (api.name == NULL || api.name(devices[index], record.text, sizeof record.text) != 0) {
    record.text[0] = 0;
  }
  if (api.memory != NULL && api.memory(devices[index], &memory) == 0) {
    record.values[0] = (int64_t)memory.total;
  }
  return Write(&record);
}

/* Reports the processes that compute on the device. A container may hide whether a process is among them. */
static int ReportProcesses(unsigned index) {
  static struct pp_nvml_process processes[PP_NVML_MOST_PROCESSES];
  unsigned count = PP_NVML_MOST_PROCESSES;
  int (*list)(void*, unsigned*, struct pp_nvml_process*) = api.processes != NULL ? api.processes : api.processes_later;
  if (list == NULL || list(devices[index], &count, processes) != 0) {
    return 1;
  }
  for (unsigned i = 0; i < count && i < PP_NVML_MOST_PROCESSES; ++i) {
    struct pp_nvml_record record = Record(PP_NVML_PROCESS, index);
    record.values[0] = processes[i].pid;
    if (!Write(&record)) {
      return 0;
    }
  }
  return 1;
}

static void Set(struct pp_nvml_record* record, enum pp_nvml_counter counter, int result, unsigned long long value) {
  if (result == 0) {
    record->values[counter] = (int64_t)value;
    record->present |= 1u << counter;
  }
}

/* Leaves out what a device does not report: each call may be refused, on a MIG slice or an old card. */
static int Sample(unsigned index) {
  struct pp_nvml_record record = Record(PP_NVML_SAMPLE, index);
  void* device = devices[index];
  struct pp_nvml_rates rates = {0, 0};
  struct pp_nvml_memory memory = {0, 0, 0};
  unsigned value = 0;
  if (api.rates != NULL) {
    const int result = api.rates(device, &rates);
    Set(&record, PP_NVML_UTILISATION, result, rates.gpu);
  }
  if (api.clock != NULL) {
    int result = api.clock(device, PP_NVML_CLOCK_SM, &value);
    Set(&record, PP_NVML_SM_CLOCK, result, value);
    result = api.clock(device, PP_NVML_CLOCK_MEMORY, &value);
    Set(&record, PP_NVML_MEMORY_CLOCK, result, value);
  }
  if (api.memory != NULL) {
    const int result = api.memory(device, &memory);
    Set(&record, PP_NVML_MEMORY_USED, result, memory.used);
  }
  if (api.power != NULL) {
    const int result = api.power(device, &value);
    Set(&record, PP_NVML_POWER, result, value);
  }
  if (api.temperature != NULL) {
    const int result = api.temperature(device, PP_NVML_SENSOR_GPU, &value);
    Set(&record, PP_NVML_TEMPERATURE, result, value);
  }
  return Write(&record);
}

/* Waits `pause_ms`; returns whether the pipe still has a reader. */
static int Pause(int pause_ms) {
  struct pollfd reader = {STDOUT_FILENO, 0, 0};
  return poll(&reader, 1, pause_ms) == 0;
}

static int Watch(int pause_ms) {
  unsigned count = 0;
  int result = api.count(&count);
  if (result != 0 || count == 0) {
    return Refuse("libnvidia-ml.so.1 reports no GPU: ", result != 0 ? api.error_text(result) : "there is none");
  }
  count = count < PP_NVML_MOST_DEVICES ? count : PP_NVML_MOST_DEVICES;
  for (unsigned i = 0; i < count; ++i) {
    if (api.handle(i, &devices[i]) != 0) {
      devices[i] = NULL; /* it may belong to another user */
    } else if (!Describe(i) || !ReportProcesses(i)) {
      return 1;
    }
  }
  do {
    for (unsigned i = 0; i < count; ++i) {
      if (devices[i] != NULL && !Sample(i)) {
        return 1;
      }
    }
  } while (Pause(pause_ms));
  return 0;
}

static int Number(const char* text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9' && number < 100000; ++text) {
    number = number * 10 + (*text - '0');
  }
  return number;
}

int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "ptrace-prof-gpu");
  const int pause_ms = argc > 1 ? Number(argv[1]) : 0;
  void* library = Load();
  if (library == NULL) {
    return Refuse("libnvidia-ml.so.1 was not found: ", dlerror());
  }
  const char* missing = Resolve(library);
  if (missing != NULL) {
    return Refuse("libnvidia-ml.so.1 has no ", missing);
  }
  const int result = api.init();
  if (result != 0) {
    return Refuse("libnvidia-ml.so.1 cannot be initialised: ", api.error_text(result));
  }
  const int status = Watch(pause_ms < 100 ? 100 : pause_ms);
  api.shutdown();
  return status;
}
