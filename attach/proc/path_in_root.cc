#include "attach/proc/path_in_root.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace ptrace_prof {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own limit
constexpr size_t kMostFolders = 256;
constexpr size_t kLongestPath = 4 * PATH_MAX;  // including the text that links add

class Walk {
 public:
  Walk(const UniqueFd& root, std::string_view path) : root_(root), left_(path) {}

  // Returns errno, or 0: at() is the result.
  int Go() {
    while (!left_.empty()) {
      if (left_.size() > kLongestPath) {
        return ENAMETOOLONG;
      }
      const std::string name = TakeName();
      if (const int error = Step(name); error != 0) {
        return error;
      }
    }
    return 0;
  }

  UniqueFd Take() {
    return folders_.empty() ? UniqueFd(::openat(root_.get(), ".", O_PATH | O_CLOEXEC)) : std::move(folders_.back());
  }

 private:
  int at() const { return folders_.empty() ? root_.get() : folders_.back().get(); }

  // A name that is not the last one must be a directory, or a link to one: "name/" is "name/.".
  std::string TakeName() {
    const size_t end = std::min(left_.find('/'), left_.size());
    std::string name = left_.substr(0, end);
    const size_t next = std::min(left_.find_first_not_of('/', end), left_.size());
    const bool needs_directory = next > end && next == left_.size() && !name.empty();
    left_ = needs_directory ? std::string(".") : left_.substr(next);
    return name;
  }

  int Step(const std::string& name) {
    if (name.empty() || name == ".") {
      return IsDirectory() ? 0 : ENOTDIR;
    }
    if (name == "..") {
      if (!IsDirectory()) {
        return ENOTDIR;
      }
      if (!folders_.empty()) {
        folders_.pop_back();  // the parent on our path: the directory may have been moved out of the root since
      }
      return 0;
    }
    UniqueFd found(::openat(at(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!found.is_open() || ::fstat(found.get(), &info) != 0) {
      return errno;
    }
    if (S_ISLNK(info.st_mode)) {
      return Follow(found);
    }
    folders_.push_back(std::move(found));
    return folders_.size() > kMostFolders ? ENAMETOOLONG : 0;
  }

  int Follow(const UniqueFd& link) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
    if (size <= 0 || ++links_ > kMostLinks) {
      return size < 0 ? errno : ELOOP;
    }
    std::string path(text.data(), static_cast<size_t>(size));
    if (path.front() == '/') {
      folders_.clear();
    }
    left_ = left_.empty() ? std::move(path) : path + "/" + left_;
    return 0;
  }

  bool IsDirectory() const {
    struct stat info {};
    return ::fstat(at(), &info) == 0 && S_ISDIR(info.st_mode);
  }

  const UniqueFd& root_;
  std::string left_;               // rest of the path
  std::vector<UniqueFd> folders_;  // from the root to the current one
  int links_ = 0;
};

}  // namespace

UniqueFd LookInRoot(const UniqueFd& root, std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    errno = path.empty() ? ENOENT : EINVAL;
    return {};
  }
  Walk walk(root, path);
  if (const int error = walk.Go(); error != 0) {
    errno = error;
    return {};
  }
  return walk.Take();
}

}  // namespace ptrace_prof
