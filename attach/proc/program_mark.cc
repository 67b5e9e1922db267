#include "attach/proc/program_mark.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

RemoteAddr RandomBytesOf(Pid pid) {
  const Result<std::string> vector = ReadProcFile(ProcPath(pid, "auxv"), 64 << 10);
  const std::string_view bytes = vector.has_value() ? std::string_view(vector.value()) : std::string_view();
  Elf64_auxv_t entry{};
  for (size_t at = 0; at + sizeof entry <= bytes.size(); at += sizeof entry) {
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.a_type == AT_RANDOM) {
      return RemoteAddr(entry.a_un.a_val);
    }
  }
  return {};
}

}  // namespace

ProgramMark ProgramMark::Read(Pid pid, RemoteMemory& memory) {
  ProgramMark mark{.where = RandomBytesOf(pid)};
  if (mark.is_known() && memory.ReadValue(mark.where, &mark.word) != ReadStatus::kOk) {
    mark.where = {};
  }
  return mark;
}

}  // namespace ptrace_prof
