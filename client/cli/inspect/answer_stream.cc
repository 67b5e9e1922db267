#include "client/cli/inspect/answer_stream.h"

#include <fmt/format.h>

#include <vector>

namespace ptrace_prof {

Result<void> ReadAnswer(CaptureStream& stream, Nanos patience,
                        const std::function<Result<void>(std::span<const std::byte>)>& feed) {
  constexpr Nanos kPoll = Nanos::FromMillis(100);
  const Nanos deadline = MonotonicNow() + patience;
  std::vector<std::byte> buffer(64 * 1024);
  while (MonotonicNow() < deadline) {
    PP_ASSIGN_OR_RETURN(const CaptureStream::Chunk chunk, stream.Read(buffer, kPoll));
    if (chunk.ended) {
      return stream.Finish();
    }
    PP_RETURN_IF_ERROR(feed(std::span(buffer).first(chunk.size)));
  }
  stream.Kill();
  return Error{Code::kDeadlineExceeded, fmt::format("the collector did not finish within {:.0f} s", patience.seconds()),
               "try again; the target is not affected"};
}

}  // namespace ptrace_prof
