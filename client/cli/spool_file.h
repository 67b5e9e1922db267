// The raw trace on disk while it is being recorded: "OUTPUT.pftrace.tmp", beside the output so that a rename works.
//
// Handles SIGXFSZ for the whole process. Never overwrites a file (a trace kept from an aborted run stays). Removed by
// the destructor unless kept. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class SpoolFile {
 public:
  static Result<SpoolFile> Create(const std::string& output);
  SpoolFile(SpoolFile&&) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;
  ~SpoolFile();

  // kResourceExhausted when the disk is full: what fits was written, a trace may end anywhere.
  Result<void> Append(std::span<const std::byte> bytes);

  // A descriptor of its own, at the beginning.
  Result<UniqueFd> OpenForReading() const;
  // The trace is the output: gives it its name. Nothing is left to remove then.
  Result<void> RenameTo(const std::string& output);
  void Keep() { kept_ = true; }

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

 private:
  SpoolFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  bool kept_ = false;
};

}  // namespace ptrace_prof
