// Finds the job's CUPTI, and checks whether it can be used. Switches nothing on.
#include "attach/target/gpu/cupti_library.h"

pp_cupti_library pp_cupti;

enum { PP_RTLD_NOW = 2, PP_RTLD_NOLOAD = 4 };

static void* open_library(const char* name, int flags) {
  if (!name[0]) return 0;
  void* handle = 0;
  if (pp_gpu_begin_call()) {
    handle = PP_GPU_FUNCTION(void* (*)(const char*, int), dlopen)(name, flags);
    pp_gpu_end_call();
  }
  return handle;
}

static void* find(void* library, const char* name) {
  return PP_GPU_FUNCTION(void* (*)(void*, const char*), dlsym)(library, name);
}

static pp_gpu_report fine(void) { return (pp_gpu_report){PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0}; }
static pp_gpu_report refuse(uint32_t error, enum pp_gpu_step step) { return (pp_gpu_report){error, step, 0}; }

static pp_gpu_report find_functions(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  if (!PP_GPU_HAS_FUNCTION(dlopen) || !PP_GPU_HAS_FUNCTION(dlsym)) {
    return refuse(PP_GPU_ERROR_NO_LIBRARY, PP_GPU_STEP_LIBRARY);
  }
  pp_gpu_set_step(PP_GPU_STEP_LIBRARY);
  void* library = open_library(boot->library_soname, PP_RTLD_NOW | PP_RTLD_NOLOAD);
  if (!library) library = open_library(boot->library_path, PP_RTLD_NOW | PP_RTLD_NOLOAD);
  if (!library && boot->flags & PP_GPU_BOOT_LOAD) library = open_library(boot->library_path, PP_RTLD_NOW);
  if (!library) return refuse(PP_GPU_ERROR_NO_LIBRARY, PP_GPU_STEP_LIBRARY);
  pp_gpu_set_step(PP_GPU_STEP_SYMBOLS);
  int lacks = 0;
#define PP_CUPTI_FIND(symbol, parameters) pp_cupti.symbol = (int(*) parameters)find(library, #symbol);
#define PP_CUPTI_NEED(symbol, parameters) \
  PP_CUPTI_FIND(symbol, parameters)       \
  lacks |= !pp_cupti.symbol;
  PP_CUPTI_FOR_EACH_FUNCTION(PP_CUPTI_NEED, PP_CUPTI_FIND)
#undef PP_CUPTI_NEED
#undef PP_CUPTI_FIND
  return lacks ? refuse(PP_GPU_ERROR_NO_SYMBOL, PP_GPU_STEP_SYMBOLS) : fine();
}

static pp_gpu_report check_version(void) {
  const uint32_t flags = pp_gpu_boot_block.flags;
  const int result = PP_CUPTI_CALL(PP_GPU_STEP_VERSION, pp_cupti.cuptiGetVersion(&pp_cupti.version));
  if (result) return pp_cupti_failed(PP_GPU_STEP_VERSION, result);
  pp_gpu.arena->backend_version = pp_cupti.version;
  if (pp_cupti.version < PP_CUPTI_11_8) return refuse(PP_GPU_ERROR_TOO_OLD, PP_GPU_STEP_VERSION);
  if (flags & PP_GPU_BOOT_FORCE) return fine();
  // This version crashes jobs that use NVTX, and those that record graphs for long.
  if (pp_cupti.version == PP_CUPTI_13_0) return refuse(PP_GPU_ERROR_BAD_VERSION, PP_GPU_STEP_VERSION);
  // Cooperative kernels hang.
  if (flags & PP_GPU_BOOT_MPS && pp_cupti.version < PP_CUPTI_13_0) return refuse(PP_GPU_ERROR_MPS, PP_GPU_STEP_VERSION);
  return fine();
}

static void find_driver(void) {
  pp_gpu_set_step(PP_GPU_STEP_DRIVER);
  void* driver = open_library("libcuda.so.1", PP_RTLD_NOW | PP_RTLD_NOLOAD);
  pp_cupti.has_driver = driver != 0;
  pp_cupti.cuDriverGetVersion = driver ? (int (*)(int*))find(driver, "cuDriverGetVersion") : 0;
  pp_cupti.cuDeviceGetCount = driver ? (int (*)(int*))find(driver, "cuDeviceGetCount") : 0;
}

// A job that has mapped CUDA but not used it yet may intend to use it in forked children. They could not if we
// initialised the driver here. So CUPTI is not even called if the driver is not mapped.
static pp_gpu_report check_driver(void) {
  int number = 0;
  if (!pp_cupti.has_driver) return refuse(PP_GPU_ERROR_NO_DRIVER, PP_GPU_STEP_DRIVER);
  if (pp_cupti.cuDriverGetVersion &&
      PP_CUPTI_CALL(PP_GPU_STEP_DRIVER, pp_cupti.cuDriverGetVersion(&number)) == PP_CUDA_SUCCESS) {
    pp_gpu.arena->driver_version = (uint32_t)number;
  }
  if (pp_cupti.cuDeviceGetCount &&
      PP_CUPTI_CALL(PP_GPU_STEP_DRIVER, pp_cupti.cuDeviceGetCount(&number)) == PP_CUDA_NOT_INITIALIZED) {
    return refuse(PP_GPU_ERROR_NOT_IN_USE, PP_GPU_STEP_DRIVER);
  }
  return fine();
}

// The library comes last: if it has to be loaded, it stays loaded.
pp_gpu_report pp_cupti_find(void) {
  find_driver();
  pp_gpu_report report = check_driver();
  if (!report.error) report = find_functions();
  if (!report.error) report = check_version();
  pp_gpu.must_give = pp_cupti.version < PP_CUPTI_12_9;
  if (!report.error && pp_gpu.must_give) report = pp_gpu_map_spares();
  return report;
}

pp_gpu_report pp_cupti_failed(enum pp_gpu_step step, int result) {
  pp_gpu_report report = {PP_GPU_ERROR_CALL, step, result};
  switch (result) {
    case PP_CUPTI_NOT_INITIALIZED:
      report.error = pp_cupti.has_driver ? PP_GPU_ERROR_DRIVER_TOO_OLD : PP_GPU_ERROR_NO_DRIVER;
      break;
    case PP_CUPTI_NOT_COMPATIBLE:  // the process uses the other of CUPTI's two interfaces
    case PP_CUPTI_MULTIPLE_SUBSCRIBERS: report.error = PP_GPU_ERROR_CONFLICT; break;
    case PP_CUPTI_INSUFFICIENT_PRIVILEGES:
    case PP_CUPTI_VIRTUALIZED_PRIVILEGES: report.error = PP_GPU_ERROR_NO_PRIVILEGE; break;
    case PP_CUPTI_VIRTUALIZED_DEVICE:
    case PP_CUPTI_CONFIDENTIAL_COMPUTING:
    case PP_CUPTI_CMP_DEVICE:
    case PP_CUPTI_MIG_DEVICE:
    case PP_CUPTI_SLI_DEVICE:
    case PP_CUPTI_WSL_DEVICE: report.error = PP_GPU_ERROR_UNSUPPORTED; break;
    case PP_CUPTI_UNKNOWN:
      if (!pp_cupti.has_driver) report.error = PP_GPU_ERROR_NO_DRIVER;
      break;
    default: break;
  }
  return report;
}
