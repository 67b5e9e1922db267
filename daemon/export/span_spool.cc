#include "daemon/export/span_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <type_traits>

#include "daemon/export/output.h"

namespace ptrace_prof {
namespace {

constexpr size_t kBlockSpans = 256;
constexpr size_t kBlockBytes = kBlockSpans * sizeof(Span);
static_assert(std::is_trivially_copyable_v<Span>);

}  // namespace

Result<void> SpanSpool::OpenFile() {
  UniqueFd fd(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.is_open()) {  // not every file system has O_TMPFILE
    std::string name = folder_ + "/.ptrace-prof-XXXXXX";
    fd = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd.is_open()) {
      return ErrnoError(errno, fmt::format("cannot make a temporary file in {}", folder_), kNoSpaceRemedy);
    }
    ::unlink(name.c_str());
  }
  file_ = std::move(fd);
  return {};
}

void SpanSpool::WriteBlock(Track& track) {
  if (status_.has_value() && !file_.is_open()) {
    status_ = OpenFile();
  }
  for (size_t done = 0; status_.has_value() && done < kBlockBytes;) {
    const auto* bytes = reinterpret_cast<const char*>(track.open.data());
    const ssize_t written = ::pwrite(file_.get(), bytes + done, kBlockBytes - done, static_cast<off_t>(size_ + done));
    if (written > 0) {
      done += static_cast<size_t>(written);
    } else if (written == 0 || errno != EINTR) {
      status_ = ErrnoError(written == 0 ? ENOSPC : errno, fmt::format("cannot write a temporary file in {}", folder_),
                           kNoSpaceRemedy);
    }
  }
  track.blocks.push_back(size_);
  size_ += kBlockBytes;
  track.open.clear();
}

void SpanSpool::Append(const Span& span) {
  if (span.track.value >= tracks_.size()) {
    tracks_.resize(span.track.value + 1);
  }
  Track& track = tracks_[span.track.value];
  track.open.push_back(span);
  if (track.open.size() == kBlockSpans) {
    WriteBlock(track);
  }
}

uint64_t SpanSpool::SpansOf(TrackId track) const {
  return track.value < tracks_.size()
             ? tracks_[track.value].blocks.size() * kBlockSpans + tracks_[track.value].open.size()
             : 0;
}

Result<void> SpanSpool::ForEach(TrackId id, const std::function<void(const Span&)>& visit) {
  PP_RETURN_IF_ERROR(Result<void>(status_));
  if (id.value >= tracks_.size()) {
    return {};
  }
  std::vector<Span> block(kBlockSpans);
  for (const uint64_t offset : tracks_[id.value].blocks) {
    auto* bytes = reinterpret_cast<char*>(block.data());
    for (size_t done = 0; done < kBlockBytes;) {
      const ssize_t got = ::pread(file_.get(), bytes + done, kBlockBytes - done, static_cast<off_t>(offset + done));
      if (got > 0) {
        done += static_cast<size_t>(got);
      } else if (got == 0 || errno != EINTR) {
        return ErrnoError(got == 0 ? EIO : errno, fmt::format("cannot read a temporary file in {}", folder_));
      }
    }
    for (const Span& span : block) {
      visit(span);
    }
  }
  for (const Span& span : tracks_[id.value].open) {
    visit(span);
  }
  return {};
}

}  // namespace ptrace_prof
