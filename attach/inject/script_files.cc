#include "attach/inject/script_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "attach/proc/path_in_root.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kVariables[] = {"TMPDIR=", "TEMP=", "TMP="};  // the order of tempfile.gettempdir()
constexpr std::string_view kFolders[] = {"/tmp", "/var/tmp", "/usr/tmp", "/dev/shm"};
constexpr size_t kLongestFolder = 384;
constexpr int kMostEntries = 100'000;  // limit of directory entries that are read

// The folders that the target's own tempfile would use, except relative paths and paths that need quoting.
std::vector<std::string> Folders(Pid pid) {
  std::vector<std::string> folders;
  const Result<std::string> environment = ReadProcFile(ProcPath(pid, "environ"));
  const std::string_view all = environment.has_value() ? std::string_view(environment.value()) : std::string_view();
  for (const std::string_view variable : kVariables) {
    for (size_t at = 0; at < all.size(); at = std::min(all.find('\0', at), all.size()) + 1) {
      const std::string_view entry = all.substr(at, std::min(all.find('\0', at), all.size()) - at);
      const bool named = entry.starts_with(variable) && entry.size() < kLongestFolder;
      const std::string_view value = named ? entry.substr(variable.size()) : std::string_view();
      const bool plain =
          std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 127 && c != '\'' && c != '"' && c != '\\'; });
      if (value.starts_with('/') && plain) {
        folders.emplace_back(value);
      }
    }
  }
  folders.insert(folders.end(), std::begin(kFolders), std::end(kFolders));
  return folders;
}

UniqueFd OpenFolder(const UniqueFd& root, const std::string& path) {
  const UniqueFd seen = LookInRoot(root, path);
  return UniqueFd(seen.is_open() ? ::openat(seen.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
}

uint64_t Random() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

// The target must open files as our user, because only that user may read the file.
Result<void> CheckSameUser(Pid pid) {
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  if (status.uid_fs == ::geteuid()) {
    return {};
  }
  return Error{Code::kPermissionDenied,
               fmt::format("process {} opens files as user {}, who may not read those of user {}", pid.value,
                           status.uid_fs, ::geteuid()),
               ""};
}

// The names with this prefix in a directory.
std::vector<std::string> NamesIn(const UniqueFd& folder, std::string_view prefix) {
  std::vector<std::string> names;
  UniqueFd again(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again.is_open() ? ::fdopendir(again.get()) : nullptr, ::closedir);
  if (entries == nullptr) {
    return names;
  }
  (void)again.release();  // `entries` owns the descriptor now
  const dirent* entry = nullptr;
  for (int count = 0; count < kMostEntries && (entry = ::readdir(entries.get())) != nullptr; ++count) {
    if (std::string_view(entry->d_name).starts_with(prefix)) {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

// A live collector holds a lock on its file.
bool IsHeld(const UniqueFd& folder, const std::string& name) {
  const UniqueFd file(::openat(folder.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  return file.is_open() && ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

Result<std::string> ScriptPrefix(Pid pid) {
  PP_ASSIGN_OR_RETURN(const uint64_t start, ReadStartTicks(pid));
  return fmt::format("ptrace-prof.{}.{}.", pid.value, start);
}

Result<void> ScriptFolder::Open() {
  if (root_.is_open()) {
    return {};
  }
  root_.reset(::open(ProcPath(pid_, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_.is_open()) {
    return ErrnoError(errno, fmt::format("cannot open the root directory of process {}", pid_.value));
  }
  paths_ = Folders(pid_);
  return {};
}

Result<std::string> ScriptFolder::Make() {
  PP_RETURN_IF_ERROR(CheckSameUser(pid_));
  PP_ASSIGN_OR_RETURN(prefix_, ScriptPrefix(pid_));
  PP_RETURN_IF_ERROR(Open());
  for (const std::string& folder : paths_) {
    Result<std::string> path = MakeIn(folder);
    if (path.has_value()) {
      return path;
    }
  }
  return Error{Code::kUnavailable, fmt::format("process {} has no temporary directory for the script", pid_.value),
               "Sample it instead (record without --mode trace)."};
}

Result<std::string> ScriptFolder::MakeIn(const std::string& folder) {
  UniqueFd opened = OpenFolder(root_, folder);
  if (!opened.is_open()) {
    return ErrnoError(errno, fmt::format("cannot open {} of process {}", folder, pid_.value));
  }
  const std::string name = fmt::format("{}{:016x}.py", prefix_, Random());
  UniqueFd file(::openat(opened.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) {
    return ErrnoError(errno, fmt::format("cannot make a file in {} of process {}", folder, pid_.value));
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  (void)::fcntl(file.get(), F_SETLK, &lock);
  folder_ = std::move(opened);
  file_ = std::move(file);
  name_ = name;
  size_ = 0;
  return folder + (folder.ends_with('/') ? "" : "/") + name;
}

Result<void> ScriptFolder::Fill(std::string_view text) {
  size_ = text.size();
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::pwrite(file_.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (written <= 0) {
      return ErrnoError(written < 0 ? errno : ENOSPC, "cannot write a script into the target's temporary directory");
    }
    at += static_cast<size_t>(written);
  }
  return {};
}

Result<uint32_t> ScriptFolder::Readers() {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) {
    return ErrnoError(errno, "cannot check the script of the target");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  return static_cast<uint32_t>(size > size_ ? size - size_ : 0);
}

Result<std::vector<UniqueFd>> ScriptFolder::OpenFolders() {
  PP_RETURN_IF_ERROR(Open());
  std::vector<UniqueFd> folders;
  for (const std::string& path : paths_) {
    if (UniqueFd folder = OpenFolder(root_, path); folder.is_open()) {
      folders.push_back(std::move(folder));
    }
  }
  return folders;
}

Result<bool> ScriptFolder::AnotherHasOne() {
  PP_ASSIGN_OR_RETURN(prefix_, ScriptPrefix(pid_));
  PP_ASSIGN_OR_RETURN(const std::vector<UniqueFd> folders, OpenFolders());
  return std::ranges::any_of(folders, [&](const UniqueFd& folder) {
    return std::ranges::any_of(NamesIn(folder, prefix_),
                               [&](const std::string& name) { return name != name_ && IsHeld(folder, name); });
  });
}

Result<void> ScriptFolder::Remove() {
  if (file_.is_open() && ::unlinkat(folder_.get(), name_.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoError(errno, fmt::format("cannot remove {} from the target's temporary directory", name_));
  }
  file_.reset();
  folder_.reset();
  name_.clear();
  PP_ASSIGN_OR_RETURN(prefix_, ScriptPrefix(pid_));
  PP_ASSIGN_OR_RETURN(const std::vector<UniqueFd> folders, OpenFolders());
  for (const UniqueFd& folder : folders) {
    for (const std::string& name : NamesIn(folder, prefix_)) {
      if (!IsHeld(folder, name)) {
        ::unlinkat(folder.get(), name.c_str(), 0);
      }
    }
  }
  return {};
}

Result<void> ScriptFolder::Empty() {
  if (file_.is_open() && ::ftruncate(file_.get(), 0) != 0) {
    return ErrnoError(errno, "cannot empty the script of the target");
  }
  return {};
}

}  // namespace ptrace_prof
