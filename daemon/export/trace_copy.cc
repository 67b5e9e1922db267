#include "daemon/export/trace_copy.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {
namespace {

class SampleCounter : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos, StackId, SampleQuality) override { ++samples; }
  void OnCallBegin(TrackId, Nanos, StackId, CallEntry, GeneratorId) override { ++samples; }
  void OnEnd(const EndInfo&) override { ended = true; }

  uint64_t samples = 0;
  bool ended = false;
};

}  // namespace

Result<ExportSummary> CopyTrace(int input_fd, Output& out) {
  SampleCounter counter;
  TraceReader reader(counter);
  std::array<std::byte, 64 * 1024> buffer;
  while (!out.failed()) {
    const ssize_t got = ::read(input_fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return ErrnoError(errno, "cannot read the trace");
    }
    if (got == 0) {
      break;
    }
    const auto bytes = std::span(buffer).first(static_cast<size_t>(got));
    PP_RETURN_IF_ERROR(reader.Feed(bytes));
    out.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  ExportSummary summary;
  summary.samples = counter.samples;
  summary.skipped = reader.skipped();
  summary.cut = reader.mid_packet() || !counter.ended;
  return summary;
}

}  // namespace ptrace_prof
