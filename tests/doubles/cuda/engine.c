// Imitates libtorch: a thread without Python, pt_autograd_0, launches what a blocked Python thread requested.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENGINE_EXPORT __attribute__((visibility("default")))

struct dimensions {
  unsigned x, y, z;
};

extern int32_t cudaLaunchKernel(const void* kernel, struct dimensions grid, struct dimensions block, void** arguments,
                                size_t shared, uintptr_t stream);

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const void* wanted_kernel;
static uintptr_t wanted_stream;
static uint32_t wanted, engine_tid;

static void* run(void* nothing) {
  pthread_setname_np(pthread_self(), "pt_autograd_0");
  pthread_mutex_lock(&lock);
  engine_tid = (uint32_t)syscall(SYS_gettid);
  for (;;) {
    while (!wanted) pthread_cond_wait(&changed, &lock);
    uint32_t count = wanted;
    pthread_mutex_unlock(&lock);
    struct dimensions grid = {16, 1, 1}, block = {128, 1, 1};
    for (uint32_t i = 0; i < count; i++) cudaLaunchKernel(wanted_kernel, grid, block, NULL, 0, wanted_stream);
    pthread_mutex_lock(&lock);
    wanted = 0;
    pthread_cond_broadcast(&changed);
  }
  return nothing;
}

static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) == 0) pthread_detach(thread);
}

// Launches `kernel` `count` times on the engine's thread; returns that thread's ID when done.
ENGINE_EXPORT uint32_t engine_run_backward(const void* kernel, uintptr_t stream, uint32_t count) {
  pthread_once(&once, start);
  pthread_mutex_lock(&one_at_a_time);
  pthread_mutex_lock(&lock);
  wanted_kernel = kernel;
  wanted_stream = stream;
  wanted = count;
  pthread_cond_broadcast(&changed);
  while (wanted) pthread_cond_wait(&changed, &lock);
  uint32_t tid = engine_tid;
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&one_at_a_time);
  return tid;
}
