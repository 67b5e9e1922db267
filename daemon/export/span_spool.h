// Keeps the spans of a recording on disk until the trace ends, and returns them thread by thread.
//
// Stores blocks of one thread's spans in an unlinked temporary file. Memory: one block per thread, and eight bytes per
// block written. Errors are sticky. One owner, one thread; append first, then read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/export/span.h"

namespace ptrace_prof {

class SpanSpool {
 public:
  explicit SpanSpool(std::string folder) : folder_(std::move(folder)) {}

  void Append(const Span& span);
  uint64_t SpansOf(TrackId track) const;
  // In the order of Append. Also returns the error of an Append that failed.
  Result<void> ForEach(TrackId track, const std::function<void(const Span&)>& visit);

 private:
  struct Track {
    std::vector<uint64_t> blocks;  // offsets in the file
    std::vector<Span> open;
  };

  void WriteBlock(Track& track);
  Result<void> OpenFile();

  std::string folder_;
  UniqueFd file_;
  uint64_t size_ = 0;
  std::vector<Track> tracks_;
  Result<void> status_;
};

}  // namespace ptrace_prof
