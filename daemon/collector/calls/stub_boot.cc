#include "daemon/collector/calls/stub_boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/signal_handlers.h"
#include "attach/proc/maps.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/calls/mapped_functions.h"
#include "daemon/collector/target/python_traits.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/interpreter_symbols.h"
#include "symbolizer/cpython/pending_calls.h"
#include "symbolizer/cpython/remote_debugging.h"
#include "symbolizer/cpython/segment_tails.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

#define PP_FUNCTION_NAME(name) #name,
constexpr std::string_view kTracerFunctions[] = {PP_FOR_EACH_FUNCTION(PP_FUNCTION_NAME)};
#undef PP_FUNCTION_NAME

// Another name of the same function, if the first one is missing.
struct Alias {
  pp_function function;
  std::string_view name;
};
constexpr Alias kAliases[] = {{PP_FN_PyThreadState_GetUnchecked, "_PyThreadState_UncheckedGet"}};

// Offsets after the head of an object, the same in all supported versions.
constexpr uint32_t kMethodDefBehindHead = 0;          // PyCFunctionObject: m_ml
constexpr uint32_t kMethodFunctionBehindHead = 0;     // PyMethodObject: im_func
constexpr uint32_t kDescriptorMethodBehindHead = 24;  // PyMethodDescrObject: d_type, d_name, d_qualname, d_method

constexpr uint64_t kEnoughForCode = 256;

struct TracerOffset {
  pp_offset offset;
  uint32_t Layout::*field;
};
constexpr TracerOffset kTracerOffsets[] = {
    {PP_OFF_thread_frame, &Layout::thread_frame},
    {PP_OFF_thread_cframe, &Layout::thread_cframe},
    {PP_OFF_cframe_current_frame, &Layout::cframe_current_frame},
    {PP_OFF_thread_native_id, &Layout::thread_native_id},
    {PP_OFF_thread_interp, &Layout::thread_interp},
    {PP_OFF_interp_threads_head, &Layout::interp_threads_head},
    {PP_OFF_frame_code, &Layout::frame_code},
    {PP_OFF_frame_owner, &Layout::frame_owner},
    {PP_OFF_frame_locals, &Layout::frame_locals},
    {PP_OFF_frame_instruction, &Layout::frame_instruction},
    {PP_OFF_frame_previous, &Layout::frame_previous},
    {PP_OFF_code_flags, &Layout::code_flags},
    {PP_OFF_code_name, &Layout::code_name},
    {PP_OFF_code_filename, &Layout::code_filename},
    {PP_OFF_code_first_line, &Layout::code_first_line},
    {PP_OFF_code_qualname, &Layout::code_qualname},
    {PP_OFF_string_length, &Layout::string_length},
    {PP_OFF_string_state, &Layout::string_state},
    {PP_OFF_string_kind_shift, &Layout::string_kind_shift},
    {PP_OFF_string_ascii_data, &Layout::string_ascii_data},
    {PP_OFF_string_compact_data, &Layout::string_compact_data},
    {PP_OFF_code_bytes, &Layout::code_bytes},
    {PP_OFF_bytes_data, &Layout::bytes_data},
    {PP_OFF_object_type, &Layout::object_type},
    {PP_OFF_type_name, &Layout::type_name},
    {PP_OFF_type_flags, &Layout::type_flags},
};

void SetOffsets(const Layout& layout, pp_boot& boot) {
  std::ranges::fill(boot.offsets, kAbsent);
  for (const TracerOffset& source : kTracerOffsets) {
    boot.offsets[source.offset] = layout.*source.field;
  }
  const uint32_t head = layout.object_type + static_cast<uint32_t>(sizeof(uint64_t));
  boot.offsets[PP_OFF_method_def] = head + kMethodDefBehindHead;
  boot.offsets[PP_OFF_method_function] = head + kMethodFunctionBehindHead;
  boot.offsets[PP_OFF_descriptor_method] = head + kDescriptorMethodBehindHead;
  const VersionFacts& facts = FactsOf(layout.version);
  boot.offsets[PP_OFF_thread_profile_function] = facts.profile_function;
  boot.offsets[PP_OFF_function_code] = head + facts.function_code;
  boot.offsets[PP_OFF_resume_operation] = facts.resume_operation;
  boot.offsets[PP_OFF_resume_quick] = facts.resume_quick;
}

Result<void> SetFunctions(Pid pid, RemoteMemory& memory, const PythonProcess& process, pp_boot& boot) {
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> found,
                      FindInterpreterSymbols(pid, memory, process, kTracerFunctions));
  for (size_t i = 0; i < found.size(); ++i) {
    boot.functions[i] = found[i].value;
  }
  for (const Alias& alias : kAliases) {
    if (boot.functions[alias.function] == 0) {
      PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> other,
                          FindInterpreterSymbols(pid, memory, process, {&alias.name, 1}));
      boot.functions[alias.function] = other.front().value;
    }
  }
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  boot.functions[PP_FN_clock_gettime] = FindInMapped(regions, memory, "[vdso]", "__vdso_clock_gettime").value;
  boot.functions[PP_FN___errno_location] = FindInLibc(regions, memory, "__errno_location").value;
  return {};
}

// For a main thread that waits, in versions in which only the main thread runs the queue.
Result<std::optional<FrameHook>> DescribeFrameHook(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                                   const PendingCalls& pending) {
  const auto& evaluator = FactsOf(process.layout.version).evaluator;
  if (!evaluator || pending.eval_frame.IsNull()) {
    return std::optional<FrameHook>();
  }
  constexpr std::string_view kEvaluate = "_PyEval_EvalFrameDefault";
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> found,
                      FindInterpreterSymbols(pid, memory, process, {&kEvaluate, 1}));
  const FrameArguments arguments{evaluator->throw_argument, evaluator->generator, evaluator->generator_is_owner};
  FrameHook hook{pending.eval_frame, found.front(), arguments, {}};
  PP_ASSIGN_OR_RETURN(hook.code_tails, FindSegmentTails(pid, memory, TailKind::kCode, kEnoughForCode));
  return std::optional(std::move(hook));
}

// For a job with signal handlers, which may raise while our Python source runs.
Result<std::optional<TextRunner>> DescribeTextRunner(Pid pid, RemoteMemory& memory, const PythonProcess& process) {
  constexpr std::string_view kNames[] = {"PyImport_AddModule", "PyModule_GetDict", "PyRun_StringFlags", "Py_DecRef"};
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> found, FindInterpreterSymbols(pid, memory, process, kNames));
  if (std::ranges::any_of(found, &RemoteAddr::IsNull)) {
    return std::optional<TextRunner>();
  }
  TextRunner runner{found[0], found[1], found[2], found[3], {}};
  PP_ASSIGN_OR_RETURN(runner.code_tails, FindSegmentTails(pid, memory, TailKind::kCode, kEnoughForCode));
  return std::optional(std::move(runner));
}

}  // namespace

Result<pp_boot> DescribeForStub(Pid pid, RemoteMemory& memory, const PythonProcess& process) {
  pp_boot boot{};
  boot.python_traits = PythonTraits(process.layout);
  PP_ASSIGN_OR_RETURN(const Tid own, ReadNamespacedTid(pid, Tid(pid.value)));
  boot.target_pid = own.value;
  boot.frame_tag_mask = static_cast<uint32_t>(process.layout.frame_tag_mask);
  SetOffsets(process.layout, boot);
  PP_RETURN_IF_ERROR(SetFunctions(pid, memory, process, boot));
  return boot;
}

Result<InjectionTarget> DescribeForInjection(Pid pid, RemoteMemory& memory, const PythonProcess& process) {
  InjectionTarget target;
  target.pid = pid;
  PP_ASSIGN_OR_RETURN(const Tid own, ReadNamespacedTid(pid, Tid(pid.value)));
  target.own_pid = Pid(own.value);
  uint64_t interpreter = 0;
  if (memory.ReadValue(process.runtime + process.layout.runtime_interpreters_main, &interpreter) != ReadStatus::kOk) {
    return Error{Code::kGone, fmt::format("the Python interpreter of process {} has ended", pid.value), ""};
  }
  PP_ASSIGN_OR_RETURN(const bool allowed, RemoteDebuggingAllowed(memory, process, RemoteAddr(interpreter)));
  target.debugging_disabled = !allowed;
  if (allowed) {  // if not allowed, no script would run
    PP_ASSIGN_OR_RETURN(target.scripts, FindScriptRequests(memory, process, RemoteAddr(interpreter)));
  }
  auto pending = FindPendingCalls(pid, memory, process, RemoteAddr(interpreter));
  if (pending.has_value()) {
    target.queue = pending.value().queue;
    if (target.queue.traced.has_value()) {
      target.queue.traced->runner = static_cast<uint64_t>(own.value);  // the main thread
    }
    target.main_thread_only = pending.value().runner == CallRunner::kMainThread;
    PP_ASSIGN_OR_RETURN(target.frame_hook, DescribeFrameHook(pid, memory, process, pending.value()));
  } else if (target.scripts && pending.error().code != Code::kGone) {
    target.no_queue = std::move(pending).error();
  } else {
    return std::move(pending).error();
  }
  constexpr std::string_view kRunText = "PyRun_SimpleString";
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> run, FindInterpreterSymbols(pid, memory, process, {&kRunText, 1}));
  target.run_text = run.front();
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  target.memfd_create = FindInLibc(regions, memory, "memfd_create");
  PP_ASSIGN_OR_RETURN(target.signal_handlers, HasSignalHandlers(pid));
  if (FactsOf(process.layout.version).interrupts_by_signal) {
    target.signal_again = SignalAgain::kByInterpreter;
  }
  if (target.signal_handlers) {
    PP_ASSIGN_OR_RETURN(target.text_runner, DescribeTextRunner(pid, memory, process));
  }
  const uint64_t enough =
      target.text_runner ? 3 * kMaxTextBytes : kMaxTextBytes;  // two pieces of source and their data
  PP_ASSIGN_OR_RETURN(target.tails, FindSegmentTails(pid, memory, TailKind::kData, enough));
  return target;
}

}  // namespace ptrace_prof
