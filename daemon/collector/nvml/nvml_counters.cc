#include "daemon/collector/nvml/nvml_counters.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr int kPauseMs = 200;
constexpr size_t kMostReads = 8;  // per call; the rest is read at the next call
constexpr size_t kMostNameBytes = 64;
constexpr size_t kMostReported = 4096;  // samples kept until they are written, against a helper that writes without end
// NVIDIA's library needs one of these device files: of the driver, or of WSL.
constexpr const char* kDeviceFiles[] = {"/dev/nvidiactl", "/dev/dxg"};

struct CounterRow {
  const char* name;
  CounterUnit unit;
  int64_t most;  // larger values are invalid
};
// Indexed by pp_nvml_counter.
constexpr std::array<CounterRow, PP_NVML_COUNTERS> kCounters = {{
    {"utilisation", CounterUnit::kPercent, 100},
    {"SM clock", CounterUnit::kMegahertz, 100'000},
    {"memory clock", CounterUnit::kMegahertz, 100'000},
    {"memory used", CounterUnit::kBytes, int64_t{1} << 50},
    {"power", CounterUnit::kMilliwatts, 1'000'000'000},
    {"temperature", CounterUnit::kCelsius, 1000},
}};

constexpr char kNonsense[] = "the helper program sent invalid data";

std::string TextOf(const pp_nvml_record& record) {
  return CleanText(std::string_view(record.text, ::strnlen(record.text, sizeof record.text)));
}

}  // namespace

std::unique_ptr<NvmlCounters> NvmlCounters::Start(v1::GpuCounters asked, bool for_memory) {
  const bool has_device = std::any_of(std::begin(kDeviceFiles), std::end(kDeviceFiles),
                                      [](auto path) { return ::access(path, F_OK) == 0; });
  if (asked != v1::GPU_COUNTERS_ON && !(has_device && (asked == v1::GPU_COUNTERS_AUTO || for_memory))) {
    return nullptr;
  }
  auto process = NvmlProcess::Start(kPauseMs);
  return std::unique_ptr<NvmlCounters>(process.has_error() ? new NvmlCounters(asked, process.error().message)
                                                           : new NvmlCounters(asked, std::move(process).value()));
}

void NvmlCounters::Read(TraceWriter& writer) {
  Pull();
  for (const Reported& reported : reported_) {
    Write(reported, writer);
  }
  reported_.clear();
  if (const std::string refusal = std::exchange(refusal_, {}); !refusal.empty() && asked_ == v1::GPU_COUNTERS_ON) {
    writer.AddNotice(MonotonicNow(), fmt::format("no GPU counters{}: {} (switch them off with --gpu-counters off)",
                                                 devices_.empty() ? "" : " from now on", refusal));
  }
}

std::optional<int64_t> NvmlCounters::FreeMemoryOf(Pid pid, Nanos patience) {
  const Nanos deadline = MonotonicNow() + patience;
  for (Pull(); pipe_ >= 0 && !WasAllReported(); Pull()) {
    const Nanos left = deadline - MonotonicNow();
    if (left.value <= 0) {
      break;
    }
    pollfd ready{pipe_, POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(left.value / 1'000'000) + 1);
  }
  if (asked_ == v1::GPU_COUNTERS_OFF) {  // it was started for this answer only
    pipe_ = -1;
    process_.reset();
  }
  std::optional<int64_t> least;
  for (const Device& device : devices_) {
    if (device.used.has_value() && device.memory >= *device.used && device.processes.count(pid) != 0) {
      least = std::min(least.value_or(INT64_MAX), device.memory - *device.used);
    }
  }
  return least;
}

void NvmlCounters::Pull() {
  std::array<char, 16 * sizeof(pp_nvml_record)> buffer;
  for (size_t i = 0; i < kMostReads && pipe_ >= 0; ++i) {
    const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR ? void() : Stop("the pipe of the helper program cannot be read");
    }
    if (got == 0) {
      return Stop("the helper program ended, or could not start");
    }
    pending_.append(buffer.data(), static_cast<size_t>(got));
    const Nanos now = MonotonicNow();
    size_t at = 0;
    for (; pipe_ >= 0 && pending_.size() - at >= sizeof(pp_nvml_record); at += sizeof(pp_nvml_record)) {
      pp_nvml_record record;
      std::memcpy(&record, pending_.data() + at, sizeof record);
      Learn(record, now);
    }
    pending_.erase(0, at);
  }
}

void NvmlCounters::Learn(const pp_nvml_record& record, Nanos now) {
  const bool is_known = record.device < devices_.size() && devices_[record.device].is_known;
  const bool needs_device = record.kind == PP_NVML_SAMPLE || record.kind == PP_NVML_PROCESS;
  if (record.magic != PP_NVML_MAGIC || record.device >= PP_NVML_MOST_DEVICES || (needs_device && !is_known)) {
    return Stop(kNonsense);
  }
  switch (record.kind) {
    case PP_NVML_DEVICE: Describe(record); break;
    case PP_NVML_PROCESS: LearnProcess(record); break;
    case PP_NVML_SAMPLE:
      devices_[record.device].has_sample = true;
      if ((record.present & (1u << PP_NVML_MEMORY_USED)) != 0 && record.values[PP_NVML_MEMORY_USED] >= 0) {
        devices_[record.device].used = record.values[PP_NVML_MEMORY_USED];
      }
      if (asked_ != v1::GPU_COUNTERS_OFF && reported_.size() < kMostReported) {
        reported_.push_back({record, now});
      }
      break;
    case PP_NVML_REFUSED: Stop(TextOf(record)); break;
    default: Stop(kNonsense); break;
  }
}

void NvmlCounters::Describe(const pp_nvml_record& record) {
  devices_.resize(std::max<size_t>(devices_.size(), record.device + 1));
  Device& device = devices_[record.device];
  if (device.is_known) {
    return;
  }
  const std::string name = Shortened(TextOf(record), kMostNameBytes);
  device.is_known = true;
  device.group = name.empty() ? fmt::format("GPU {}", record.device) : fmt::format("GPU {} ({})", record.device, name);
  device.memory = std::clamp<int64_t>(record.values[0], 0, kCounters[PP_NVML_MEMORY_USED].most);
}

void NvmlCounters::LearnProcess(const pp_nvml_record& record) {
  std::set<Pid>& processes = devices_[record.device].processes;
  if (record.values[0] > 0 && record.values[0] <= INT32_MAX && processes.size() < PP_NVML_MOST_PROCESSES) {
    processes.insert(Pid(static_cast<int32_t>(record.values[0])));
  }
}

// All devices are described before the first sample of any.
bool NvmlCounters::WasAllReported() const {
  return !devices_.empty() &&
         std::ranges::all_of(devices_, [](const Device& device) { return !device.is_known || device.has_sample; });
}

void NvmlCounters::Write(const Reported& reported, TraceWriter& writer) {
  const pp_nvml_record& record = reported.record;
  Device& device = devices_[record.device];
  device.last = std::clamp(Nanos(record.when_ns), device.last, reported.when);
  for (size_t i = 0; i < PP_NVML_COUNTERS; ++i) {
    const CounterRow& row = kCounters[i];
    if ((record.present & (1u << i)) == 0 || record.values[i] < 0 || record.values[i] > row.most) {
      continue;
    }
    if (!device.counters[i]) {
      const int64_t most = i == PP_NVML_MEMORY_USED ? device.memory : i == PP_NVML_UTILISATION ? row.most : 0;
      device.counters[i] = writer.AddCounter({device.group, row.name, row.unit, most});
    }
    writer.AddCount(*device.counters[i], device.last, record.values[i]);
  }
}

void NvmlCounters::Stop(std::string why) {
  pipe_ = -1;
  process_.reset();
  refusal_ = std::move(why);
}

}  // namespace ptrace_prof
