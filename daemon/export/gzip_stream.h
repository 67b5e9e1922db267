// Compresses data as one gzip member. One owner, one thread; does not throw; allocates only at construction.
#pragma once

#include <zlib.h>

#include <string_view>

namespace ptrace_prof {

class GzipStream {
 public:
  enum class Flush : int { kNone = Z_NO_FLUSH, kFinish = Z_FINISH };

  GzipStream() {
    constexpr int kGzipWindow = 15 + 16;
    ready_ = ::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipStream() { ::deflateEnd(&stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // False: out of memory; then do not call Write.
  bool ready() const { return ready_; }
  // Calls `sink(std::string_view)` with the compressed bytes that are ready.
  template <typename Sink>
  void Write(std::string_view bytes, Flush flush, Sink&& sink) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());  // pieces are far smaller than 4 GiB
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_);
      stream_.avail_out = sizeof(buffer_);
      ::deflate(&stream_, static_cast<int>(flush));
      sink(std::string_view(buffer_, sizeof(buffer_) - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  char buffer_[16 * 1024];
};

}  // namespace ptrace_prof
