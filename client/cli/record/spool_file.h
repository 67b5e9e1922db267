// The raw trace on disk while it is recorded: "OUTPUT.pftrace.tmp", beside the output so that a rename works. If the
// output is not a regular file, a file without a name, which vanishes however we end.
//
// Handles SIGXFSZ for the whole process. Never overwrites a file (a trace kept from an aborted run stays). The
// destructor removes the file unless it is kept. One owner, one thread.
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
  // If the file is kept, its name is `base`.pftrace.tmp.
  static Result<SpoolFile> CreateNameless(const std::string& base);
  SpoolFile(SpoolFile&&) noexcept;
  SpoolFile& operator=(SpoolFile&&) = delete;
  ~SpoolFile();

  // kResourceExhausted if the disk is full: what fits was written, and a trace may end anywhere.
  Result<void> Append(std::span<const std::byte> bytes);

  // An independent descriptor, at the beginning of the file.
  Result<UniqueFd> OpenForReading() const;
  // Makes the trace the output: gives it that name. Nothing is left to remove then.
  Result<void> RenameTo(const std::string& output);
  // Keeps the file, at path(). An error if it has no name and cannot get one.
  Result<void> Keep();

  const std::string& path() const { return path_; }
  bool has_name() const { return has_name_; }
  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }

 private:
  enum class Name : uint8_t { kGiven, kNone };
  SpoolFile(std::string path, UniqueFd fd, Name name)
      : path_(std::move(path)), fd_(std::move(fd)), has_name_(name == Name::kGiven) {}
  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  bool has_name_;
  bool kept_ = false;
};

}  // namespace ptrace_prof
