#include "tests/unit/daemon/export/exporting.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {
namespace {

std::string Between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  const size_t end = text.find(to, begin + from.size());
  return begin == std::string::npos || end == std::string::npos
             ? "missing"
             : text.substr(begin + from.size(), end - begin - from.size());
}

}  // namespace

std::string Decompress(const std::string& bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, 15 + 16) != Z_OK) {
    return {};
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    char buffer[4096];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    status = ::inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  ::inflateEnd(&stream);
  return status == Z_STREAM_END ? out : "not gzip";
}

ScratchFolder::ScratchFolder() {
  std::string name = std::filesystem::temp_directory_path() / "export-test-XXXXXX";
  path_ = ::mkdtemp(name.data());
}

ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

size_t ScratchFolder::FileCount() const {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
}

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

Result<ExportSummary> ExportTo(const std::string& trace, const ExportOptions& options, const std::string& path) {
  const UniqueFd input(::memfd_create("trace", MFD_CLOEXEC));
  if (::pwrite(input.get(), trace.data(), trace.size(), 0) != static_cast<ssize_t>(trace.size())) {
    return ErrnoError(errno, "cannot set up the test");
  }
  return ExportTrace(input.get(), options, path);
}

Exported Export(const std::string& trace, ExportFormat format, ExportOptions options) {
  const ScratchFolder folder;
  options.format = format;
  const std::string path = folder.PathOf("out");
  auto result = ExportTo(trace, options, path);
  return {std::move(result), ReadFile(path)};
}

std::vector<FormatInfo> FormatsOfAnyTrace() {
  std::vector<FormatInfo> formats;
  for (const FormatInfo& info : ExportFormats()) {
    if (info.format != ExportFormat::kExecutionTrace) {
      formats.push_back(info);
    }
  }
  return formats;
}

std::string Essence(ExportFormat format, const std::string& bytes) {
  switch (format) {
    case ExportFormat::kHtml: return Between(bytes, "id=\"trace\">", "</script>");
    case ExportFormat::kSvg: return bytes.substr(0, bytes.find("<![CDATA["));
    case ExportFormat::kPprof: return Decompress(bytes);
    case ExportFormat::kSpeedscope:
    case ExportFormat::kCollapsed:
    case ExportFormat::kChrome:
    case ExportFormat::kPerfetto:
    case ExportFormat::kMemoryTimeline:
    case ExportFormat::kExecutionTrace:
    case ExportFormat::kText: return bytes;
  }
  return {};
}

}  // namespace ptrace_prof
