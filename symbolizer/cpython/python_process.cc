#include "symbolizer/cpython/python_process.h"

#include <fmt/format.h>

#include <optional>

#include "symbolizer/cpython/debug_offsets.h"
#include "symbolizer/cpython/process_images.h"
#include "symbolizer/cpython/runtime_check.h"
#include "symbolizer/cpython/runtime_finder.h"
#include "symbolizer/cpython/version_finder.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kStartRemedy = "If it is just starting, try again in a moment.";

// One search through the images of one process. The first running interpreter wins; otherwise the most informative
// reason why there is none is kept.
class Search {
 public:
  Search(Pid pid, RemoteMemory& memory, ProcessImages& images) : pid_(pid), memory_(memory), images_(images) {}

  Result<PythonProcess> Run() {
    for (const RuntimeStrategy& strategy : RuntimeStrategies()) {
      for (size_t i = 0; i < images_.count(); ++i) {
        if (images_.image(i).rank > strategy.least_likely) {
          continue;
        }
        PP_ASSIGN_OR_RETURN(const bool found,
                            strategy.find(memory_, images_, i, [&](RemoteAddr at) { return Consider(i, at); }));
        if (found) {
          return std::move(*found_);
        }
      }
      if (refusal_ && refusal_->code != Code::kDataLoss) {
        break;  // it was found but is unusable: a further search would find the same, or something like it
      }
    }
    if (!refusal_) {
      NameOldOrOtherPython();
    }
    Error error = refusal_ ? std::move(*refusal_) : NotPython();
    error.thing = ThingOf(pid_);
    return error;
  }

 private:
  // Whether _PyRuntime of image i is at this address. If it is there but unusable, stores the reason.
  bool Consider(size_t i, RemoteAddr runtime) {
    Result<Layout> layout = LayoutAt(i, runtime);
    if (layout.has_error()) {
      Remember(std::move(layout).error());
      return false;
    }
    const std::string version = VersionText(layout.value());
    switch (CheckRuntime(memory_, layout.value(), runtime)) {
      case RuntimeState::kRunning: Found(i, runtime, layout.value()); return true;
      case RuntimeState::kNotStarted:
        Remember(Because(Reason::kPythonNotStarted,
                         fmt::format("process {} holds CPython {}, but no interpreter runs in it (yet)", pid_.value,
                                     FactsOf(layout.value().version).name()),
                         std::string(kStartRemedy)));
        return false;
      case RuntimeState::kEnding:
        Remember(Because(Reason::kPythonEnding,
                         fmt::format("process {} holds CPython {}, which is shutting down", pid_.value, version)));
        return false;
      case RuntimeState::kNotARuntime: return false;
    }
    return false;
  }

  Result<Layout> LayoutAt(size_t i, RemoteAddr runtime) {
    std::byte bytes[kDebugOffsetsMaxSize];
    size_t size = sizeof bytes;  // _PyRuntime may be shorter, and at the end of its segment
    while (size >= 64 && memory_.Read(runtime, bytes, size) != ReadStatus::kOk) {
      size /= 2;
    }
    const ElfImage& elf = *images_.image(i).elf;
    // Exported by builds that count all references, as debug builds do.
    const bool debug_build =
        elf.FindSymbol("_Py_NegativeRefcount").has_value() || elf.FindSymbol("_Py_RefTotal").has_value();
    Result<Layout> described = ImportDebugOffsets(std::span(bytes).first(size >= 64 ? size : 0));
    if (described.has_value()) {
      described.value().debug_build = debug_build;
      return described;
    }
    if (described.error().code != Code::kNotFound) {
      return described;
    }
    const auto version = FindVersion(memory_, elf, images_.image(i).region.path);
    if (!version) {
      return Because(Reason::kPythonUnsupported, fmt::format("process {} has a Python of unknown version in {}",
                                                             pid_.value, images_.image(i).region.path));
    }
    if (DescribesItself(*version)) {
      return Because(Reason::kPythonDamaged,
                     fmt::format("process {} has CPython {} without the description of its structures", pid_.value,
                                 ToString(*version)));
    }
    if (version->major == 3 && elf.FindSymbol("_Py_AddToAllObjects").has_value()) {
      return Because(Reason::kPythonTraceRefs,
                     fmt::format("CPython {} built with --with-trace-refs is not supported", ToString(*version)),
                     "Run the target with an ordinary build of the same version.");
    }
    return LayoutFor(*version, debug_build);
  }

  void Found(size_t i, RemoteAddr runtime, const Layout& layout) {
    PythonProcess process;
    process.runtime = runtime;
    process.version_text = VersionText(layout);
    process.layout = layout;
    process.binary = images_.image(i).region.path;
    process.code_type = CodeType(i);
    found_ = std::move(process);
  }

  // An executable that refers to PyCode_Type may have been linked with a copy relocation: then the type is in the
  // executable, whichever image defines it.
  RemoteAddr CodeType(size_t holder) const {
    for (size_t i = 0; i < images_.count(); ++i) {
      const bool asked = i == holder || images_.image(i).rank == ImageRank::kExecutable;
      const auto& elf = images_.image(i).elf;
      const auto symbol = asked && elf ? elf->FindSymbol("PyCode_Type") : std::nullopt;
      if (symbol) {
        return elf->Address(symbol->value);
      }
    }
    return {};
  }

  // An unsupported version is more informative than one that has not started; of each kind the first is kept.
  void Remember(Error error) {
    if (!refusal_ || (refusal_->code == Code::kFailedPrecondition && error.code == Code::kUnimplemented)) {
      refusal_ = std::move(error);
    }
  }

  static std::string VersionText(const Layout& layout) {
    return ToString(layout.version) + (layout.free_threaded ? " free-threaded" : "") +
           (layout.debug_build ? " (debug build)" : "");
  }

  // Detects Pythons without _PyRuntime.
  void NameOldOrOtherPython() {
    for (size_t i = 0; i < images_.count() && !refusal_; ++i) {
      const auto& elf = images_.image(i).elf;
      if (!elf) {
        continue;
      }
      if (elf->FindSymbol("pypy_main_startup")) {
        Remember(Because(Reason::kPythonNotCpython,
                         fmt::format("process {} runs PyPy: only CPython is supported", pid_.value)));
      } else if (elf->FindSymbol("_PyThreadState_Current") || elf->FindSymbol("PyEval_EvalFrameEx")) {
        const auto version = FindVersion(memory_, *elf, images_.image(i).region.path);
        if (version && (version->major < 3 || version->minor < SupportedVersions().front().minor)) {
          const Result<Layout> refused = LayoutFor(*version, false);
          Remember(refused.error());
        }
      }
    }
  }

  Error NotPython() const {
    if (images_.count() == 0) {
      return Because(
          Reason::kNotPython,
          fmt::format("process {} has no program in memory: it is a kernel thread, or it has ended", pid_.value));
    }
    const std::string& path = images_.executable().empty() ? images_.image(0).region.path : images_.executable();
    return Because(
        Reason::kNotPython,
        fmt::format("process {} ({}) is not a Python process: none of the {} files that it maps holds a CPython",
                    pid_.value, path, images_.count()));
  }

  Pid pid_;
  RemoteMemory& memory_;
  ProcessImages& images_;
  std::optional<PythonProcess> found_;
  std::optional<Error> refusal_;
};

}  // namespace

Result<PythonProcess> PythonProcess::Open(Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(ProcessImages images, ProcessImages::Of(pid, memory));
  return Search(pid, memory, images).Run();
}

}  // namespace ptrace_prof
