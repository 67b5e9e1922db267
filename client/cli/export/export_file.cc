#include "client/cli/export/export_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "attach/base/reason.h"
#include "attach/base/unique_fd.h"
#include "client/cli/export/export_options.h"
#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

Result<UniqueFd> OpenTrace(const std::string& path) {
  if (path == "-") {
    return UniqueFd(::dup(STDIN_FILENO));
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return ErrnoError(errno, fmt::format("cannot open {}", path),
                      "give the .pftrace that `record` wrote, or - for stdin");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return Error{Code::kNotFound, fmt::format("{} is a directory", path), "name the .pftrace in it"};
  }
  unsigned char magic[2] = {};
  if (::pread(fd.get(), magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b) {
    return Error{Code::kDataLoss, fmt::format("{} is compressed", path),
                 fmt::format("decompress it first: gunzip -c {} | ptrace-prof export - -o OUTPUT", path)};
  }
  return fd;
}

}  // namespace

ExitCode ExportFile(const std::string& input, const ExportOptions& options, const std::string& output) {
  const auto opened = OpenTrace(input);
  if (opened.has_error()) {
    return Fail(opened.error(), ExitCode::kBadTrace);
  }
  const auto exported = ExportTrace(opened.value().get(), options, output);
  if (exported.has_error()) {
    Error error = exported.error();
    if (error.reason == Reason::kNotATrace && input != "-") {
      error.message = fmt::format("{}: {}", input, error.message);
    }
    return Fail(error, ExportExitCode(error));
  }
  ReportExport(exported.value(), output);
  return ExitCode::kOk;
}

}  // namespace ptrace_prof
