#include "daemon/nvml/nvml_counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr int kPauseMs = 200;
constexpr size_t kMostReads = 8;  // in one go: whoever writes without end is read again later
constexpr size_t kMostNameBytes = 64;
// The device files without which NVIDIA's library finds nothing: of the driver, and of WSL.
constexpr const char* kDeviceFiles[] = {"/dev/nvidiactl", "/dev/dxg"};

struct CounterRow {
  const char* name;
  CounterUnit unit;
  int64_t most;  // what is more makes no sense
};
// By pp_nvml_counter.
constexpr std::array<CounterRow, PP_NVML_COUNTERS> kCounters = {{
    {"utilisation", CounterUnit::kPercent, 100},
    {"SM clock", CounterUnit::kMegahertz, 100'000},
    {"memory clock", CounterUnit::kMegahertz, 100'000},
    {"memory used", CounterUnit::kBytes, int64_t{1} << 50},
    {"power", CounterUnit::kMilliwatts, 1'000'000'000},
    {"temperature", CounterUnit::kCelsius, 1000},
}};

std::string TextOf(const pp_nvml_record& record) {
  return CleanText(std::string_view(record.text, ::strnlen(record.text, sizeof record.text)));
}

}  // namespace

std::unique_ptr<NvmlCounters> NvmlCounters::Start(GpuCounters asked) {
  const bool has_device = std::any_of(std::begin(kDeviceFiles), std::end(kDeviceFiles),
                                      [](auto path) { return ::access(path, F_OK) == 0; });
  if (asked == GpuCounters::kOff || (asked == GpuCounters::kAuto && !has_device)) {
    return nullptr;
  }
  auto process = NvmlProcess::Start(kPauseMs);
  return std::unique_ptr<NvmlCounters>(process.has_error() ? new NvmlCounters(asked, process.error().message)
                                                           : new NvmlCounters(asked, std::move(process).value()));
}

void NvmlCounters::Read(TraceWriter& writer) {
  if (!refusal_.empty()) {
    Stop(std::exchange(refusal_, {}), writer);
  }
  std::array<char, 16 * sizeof(pp_nvml_record)> buffer;
  for (size_t i = 0; i < kMostReads && pipe_ >= 0; ++i) {
    const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR ? void() : Stop("its pipe cannot be read", writer);
    }
    if (got == 0) {
      return Stop("the helper program ended, or could not start", writer);
    }
    pending_.append(buffer.data(), static_cast<size_t>(got));
    const Nanos now = MonotonicNow();
    size_t at = 0;
    for (; pipe_ >= 0 && pending_.size() - at >= sizeof(pp_nvml_record); at += sizeof(pp_nvml_record)) {
      pp_nvml_record record;
      std::memcpy(&record, pending_.data() + at, sizeof record);
      Take(record, now, writer);
    }
    pending_.erase(0, at);
  }
}

void NvmlCounters::Take(const pp_nvml_record& record, Nanos now, TraceWriter& writer) {
  if (record.magic != PP_NVML_MAGIC || record.device >= PP_NVML_MOST_DEVICES) {
    return Stop("what it says makes no sense", writer);
  }
  switch (record.kind) {
    case PP_NVML_DEVICE: Describe(record); break;
    case PP_NVML_SAMPLE: Sample(record, now, writer); break;
    case PP_NVML_REFUSED: Stop(TextOf(record), writer); break;
    default: Stop("what it says makes no sense", writer); break;
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

void NvmlCounters::Sample(const pp_nvml_record& record, Nanos now, TraceWriter& writer) {
  if (record.device >= devices_.size() || !devices_[record.device].is_known) {
    return Stop("what it says makes no sense", writer);
  }
  Device& device = devices_[record.device];
  device.last = std::clamp(Nanos(record.when_ns), device.last, now);
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

void NvmlCounters::Stop(std::string why, TraceWriter& writer) {
  pipe_ = -1;
  process_.reset();
  if (asked_ == GpuCounters::kOn) {
    writer.AddNotice(MonotonicNow(), fmt::format("no counters of GPUs{}: {} (--gpu-counters off asks for none)",
                                                 devices_.empty() ? "" : " from here on", why));
  }
}

}  // namespace ptrace_prof
