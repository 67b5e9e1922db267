/* A double of NVIDIA's management library, libnvidia-ml.so.1, for machines without one: two GPUs with known numbers. It
 * is stricter than the real one: a forbidden call ends the process, after a line in $PP_FAKE_NVML_LOG.
 *
 * $PP_FAKE_NVML chooses its behaviour by words between commas: "init=9" (the result of nvmlInit_v2), "count=0", "mute"
 * (no utilisation, as on a MIG slice), "forbidden" (the second GPU is another user's), "hostile" (impossible numbers
 * and an impossible name), "process=PID" (it computes on the second GPU), "free=MIB" (of memory there). */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4 };
enum { DEVICES = 2 };

struct rates {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

static int started;
static pid_t owner;
static char handles[DEVICES];
static unsigned looks[DEVICES];

static void Log(const char* format, ...) {
  const char* path = getenv("PP_FAKE_NVML_LOG");
  const int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd >= 0) {
    va_list arguments;
    va_start(arguments, format);
    vdprintf(fd, format, arguments);
    va_end(arguments);
    close(fd);
  }
}

static void Demand(int holds, const char* call, const char* what) {
  if (!holds) {
    Log("violation: %s: %s\n", call, what);
    abort();
  }
}

static int Is(const char* word) {
  const char* wanted = getenv("PP_FAKE_NVML");
  return wanted != NULL && strstr(wanted, word) != NULL;
}

static int ValueOf(const char* word, int otherwise) {
  const char* wanted = getenv("PP_FAKE_NVML");
  const char* at = wanted == NULL ? NULL : strstr(wanted, word);
  return at == NULL ? otherwise : atoi(at + strlen(word));
}

static int Check(const char* call, void* device) {
  Demand(started && owner == getpid(), call, "before nvmlInit_v2, after nvmlShutdown or in another process");
  Demand((char*)device >= handles && (char*)device < handles + DEVICES, call, "not a handle of ours");
  return (int)((char*)device - handles);
}

int nvmlInit_v2(void) {
  Demand(!started, "nvmlInit_v2", "twice");
  const int result = ValueOf("init=", SUCCESS);
  started = result == SUCCESS;
  owner = getpid();
  Log("init %d\n", result);
  return result;
}

int nvmlShutdown(void) {
  Demand(started, "nvmlShutdown", "before nvmlInit_v2");
  started = 0;
  Log("shutdown\n");
  return SUCCESS;
}

const char* nvmlErrorString(int result) {
  switch (result) {
    case SUCCESS: return "The operation was successful";
    case NO_PERMISSION: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    default: return "Unknown Error";
  }
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  Demand(started && count != NULL, "nvmlDeviceGetCount_v2", "before nvmlInit_v2, or no place for the answer");
  *count = (unsigned)ValueOf("count=", DEVICES);
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  Demand(started && device != NULL, "nvmlDeviceGetHandleByIndex_v2", "before nvmlInit_v2, or no place for the answer");
  Demand(index < DEVICES, "nvmlDeviceGetHandleByIndex_v2", "more than nvmlDeviceGetCount_v2 said");
  if (index == 1 && Is("forbidden")) {
    return NO_PERMISSION;
  }
  *device = &handles[index];
  return SUCCESS;
}

int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  const int index = Check("nvmlDeviceGetName", device);
  Demand(size >= 96, "nvmlDeviceGetName", "less than 96 bytes of room");
  snprintf(name, size, Is("hostile") ? "Model\033[31m\n%c" : "Model %c", 'A' + index);
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void* device, struct rates* rates) {
  const int index = Check("nvmlDeviceGetUtilizationRates", device);
  if (Is("mute")) {
    return NOT_SUPPORTED;
  }
  rates->gpu = Is("hostile") ? 4000000000u : 10 + 10 * (unsigned)index + looks[index]++ % 5;
  rates->memory = 5;
  return SUCCESS;
}

int nvmlDeviceGetClockInfo(void* device, unsigned which, unsigned* mhz) {
  const int index = Check("nvmlDeviceGetClockInfo", device);
  Demand(which == 1 || which == 2, "nvmlDeviceGetClockInfo", "neither SM nor memory clock");
  *mhz = (which == 1 ? 1410u : 2619u) + (unsigned)index;
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  const unsigned long long gib = 1ull << 30;
  memory->total = 80 * gib;
  const int index = Check("nvmlDeviceGetMemoryInfo", device);
  const int free_mib = index == 1 ? ValueOf("free=", -1) : -1;
  memory->used =
      free_mib < 0 ? (7 + (unsigned long long)index) * gib : memory->total - ((unsigned long long)free_mib << 20);
  memory->free = memory->total - memory->used;
  return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, struct process* processes) {
  const int index = Check("nvmlDeviceGetComputeRunningProcesses_v2", device);
  const int pid = ValueOf("process=", 0);
  Demand(count != NULL && *count > 0 && processes != NULL, "nvmlDeviceGetComputeRunningProcesses_v2", "no room");
  if (index == 0 || pid == 0) {
    *count = 0;
    return SUCCESS;
  }
  *count = 1;
  processes[0] = (struct process){(unsigned)pid, 1ull << 30, 0xffffffffu, 0xffffffffu};
  return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 123456 + (unsigned)Check("nvmlDeviceGetPowerUsage", device);
  return SUCCESS;
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  const int index = Check("nvmlDeviceGetTemperature", device);
  Demand(sensor == 0, "nvmlDeviceGetTemperature", "no such sensor");
  *celsius = 41 + (unsigned)index;
  return SUCCESS;
}
