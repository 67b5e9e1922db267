#include "symbolizer/cpython/interpreter_symbols.h"

#include <algorithm>

#include "symbolizer/cpython/process_images.h"

namespace ptrace_prof {
namespace {

// Fills in the addresses that are still missing.
void LookUp(const ElfImage& elf, std::span<const std::string_view> names, std::vector<RemoteAddr>& found) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto symbol = found[i].IsNull() ? elf.FindSymbol(names[i]) : std::nullopt;
    if (symbol) {
      found[i] = elf.Address(symbol->value);
    }
  }
}

}  // namespace

Result<std::vector<RemoteAddr>> FindInterpreterSymbols(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                                       std::span<const std::string_view> names) {
  PP_ASSIGN_OR_RETURN(ProcessImages images, ProcessImages::Of(pid, memory));
  std::vector<RemoteAddr> found(names.size());
  for (const bool with_file : {false, true}) {
    for (size_t i = 0; i < images.count(); ++i) {
      const ProcessImage& image = images.image(i);
      if (image.rank != ImageRank::kExecutable && image.region.path != process.binary) {
        continue;
      }
      PP_ASSIGN_OR_RETURN(const ElfImage* elf, with_file ? images.ElfWithFile(i) : images.Elf(i));
      if (elf != nullptr) {
        LookUp(*elf, names, found);
      }
    }
    // Opening files and reading .symtab is slow. An image that exports one Python function exports all that exist.
    if (std::ranges::any_of(found, [](RemoteAddr one) { return !one.IsNull(); })) {
      break;
    }
  }
  return found;
}

}  // namespace ptrace_prof
