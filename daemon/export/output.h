// Where an exporter writes: a file that appears complete or not at all, or a stream such as standard output.
//
// A regular file is written in the same folder as NAME.tmp.<pid>, then synced and renamed by Commit; without Commit
// nothing of it remains. Devices and pipes are written directly ("-" is standard output). Errors are sticky and
// returned by Commit, so that writing code need not check them. The output may be compressed. One owner, one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/export/gzip_stream.h"

namespace ptrace_prof {

inline constexpr std::string_view kNoSpaceRemedy =
    "Free some space or name another place with -o; the trace itself is untouched.";

class Output {
 public:
  enum class Compression : uint8_t { kNone, kGzip };

  static Result<std::unique_ptr<Output>> Open(const std::string& path, Compression compression = Compression::kNone);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBufferSize) {
      Flush();
    }
    if (bytes.size() > kBufferSize) {
      Pass(bytes);
    } else {
      buffer_.append(bytes);
    }
  }
  void Put(char c) { Write(std::string_view(&c, 1)); }

  bool failed() const { return status_.has_error(); }
  uint64_t bytes_written() const { return bytes_written_; }  // valid after Commit
  Result<void> Commit();

 private:
  static constexpr size_t kBufferSize = 64 * 1024;

  Output(std::string path, std::string temporary, UniqueFd fd);
  static Result<std::unique_ptr<Output>> OpenPlain(const std::string& path);
  void Flush();
  void Pass(std::string_view bytes);
  void WriteOut(std::string_view bytes);
  void Fail(int err);

  std::string path_;       // as the user gave it
  std::string target_;     // the temporary file's final name; symbolic links resolved
  std::string temporary_;  // empty for streams
  UniqueFd fd_;
  std::string buffer_;
  std::unique_ptr<GzipStream> gzip_;
  uint64_t bytes_written_ = 0;
  Result<void> status_;
};

// Checks whether an output can be made. kNotFound, kPermissionDenied: there is no such folder, it is not writable, or
// the path is a symbolic link of another user. kInternal: standard output is closed.
Result<void> CheckPlaceOf(const std::string& path);

// The folder for temporary files of an output: the output's own folder, or TMPDIR for streams.
std::string TemporaryFolderFor(const std::string& output_path);

}  // namespace ptrace_prof
