#include "tests/doubles/cuda/device_model.h"

#include <pthread.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/options.h"

enum { kStreams = 256, kLaunchLatency = 3000 };

static struct {
  pthread_mutex_t lock;
  uint64_t zero;  // CLOCK_MONOTONIC when the device came up
  uint64_t offset;
  int64_t drift_ppb;
  uint64_t backlog;  // ns of queued work from which on a launch waits
  uint64_t busy_until[kStreams], copies_until[kMostDevices][2];
  uint32_t device_of[kStreams], devices;
  uint32_t streams;  // in use; the first are the null streams of the devices
  uint64_t grids;
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

void model_start(void) {
  pthread_mutex_lock(&model.lock);
  if (!model.zero) {
    model.offset = (uint64_t)double_option("gpu_offset", 77000000000);
    model.drift_ppb = double_option("gpu_drift_ppb", 20000);
    model.backlog = (uint64_t)double_option("backlog_us", 5000) * 1000;
    int64_t devices = double_option("devices", 1);
    model.devices = devices < 1 ? 1 : devices > kMostDevices ? kMostDevices : (uint32_t)devices;
    for (uint32_t i = 0; i < model.devices; i++) model.device_of[i] = i;
    model.streams = model.devices;
    model.zero = monotonic_now();
  }
  pthread_mutex_unlock(&model.lock);
}

uint64_t model_ticks(uint64_t monotonic) {
  int64_t since = (int64_t)(monotonic - model.zero);
  return model.offset + (uint64_t)(since + (int64_t)((__int128)since * model.drift_ppb / 1000000000));
}

uint64_t model_host_time(uint64_t ticks) {
  int64_t since = (int64_t)(ticks - model.offset);
  return model.zero + (uint64_t)((__int128)since * 1000000000 / (1000000000 + model.drift_ppb));
}

static uint32_t slot_of(uint32_t stream, uint32_t device) {
  uint32_t slot = stream == kNullStream ? device : stream - kFirstStream + model.devices;
  return slot < kStreams ? slot : 0;
}

uint32_t model_devices(void) { return model.devices; }
uint32_t model_device_of(uint32_t stream) { return model.device_of[slot_of(stream, 0)]; }

uint32_t model_create_stream(uint32_t device) {
  pthread_mutex_lock(&model.lock);
  uint32_t id = model.streams < kStreams ? kFirstStream + model.streams - model.devices : 0;
  if (id) model.device_of[model.streams++] = device < model.devices ? device : 0;
  pthread_mutex_unlock(&model.lock);
  return id;
}

static uint64_t later(uint64_t one, uint64_t other) { return one > other ? one : other; }

void model_queue(struct double_op* op, uint64_t duration) {
  uint32_t slot = slot_of(op->stream, op->device);
  pthread_mutex_lock(&model.lock);
  for (uint64_t now = monotonic_now(); model.busy_until[slot] > now + model.backlog; now = monotonic_now()) {
    uint64_t until = model.busy_until[slot] - model.backlog / 2;
    pthread_mutex_unlock(&model.lock);
    sleep_until(until);
    pthread_mutex_lock(&model.lock);
  }
  uint64_t start = later(monotonic_now() + kLaunchLatency, model.busy_until[slot] + 1000);
  if (op->kind == kOpMemcpy) {
    uint64_t* engine = &model.copies_until[model.device_of[slot]][op->copy_kind == 2];  // device to host has its own
    start = later(start, *engine);
    *engine = start + duration;
  }
  model.busy_until[slot] = start + duration;
  op->grid_id = op->kind == kOpKernel ? ++model.grids : 0;
  op->device = model.device_of[slot];
  op->context = context_of(op->device);
  op->channel = slot + 8;
  op->start = model_ticks(start);
  op->end = model_ticks(start + duration);
  pthread_mutex_unlock(&model.lock);
}

uint64_t model_idle_at(uint32_t stream) {
  uint64_t until = 0;
  pthread_mutex_lock(&model.lock);
  for (uint32_t slot = 0; slot < kStreams; slot++) {
    int is_one = stream == kNullStream ? slot < model.devices : slot == slot_of(stream, 0);
    if (!stream || is_one) until = later(until, model.busy_until[slot]);
  }
  pthread_mutex_unlock(&model.lock);
  return until;
}

void model_inventory(struct double_inventory* out) {
  pthread_mutex_lock(&model.lock);
  out->contexts = model.zero ? model.devices : 0;
  out->streams = model.streams;
  for (uint32_t i = 0; i < model.streams; i++) {
    out->stream_ids[i] = i < model.devices ? kNullStream : kFirstStream + i - model.devices;
    out->stream_devices[i] = model.device_of[i];
  }
  pthread_mutex_unlock(&model.lock);
}
