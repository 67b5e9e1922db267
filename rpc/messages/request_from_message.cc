#include "rpc/messages/request_from_message.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <cmath>

#include "daemon/trace/name_glob.h"
#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/messages/idle_policy_message.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

constexpr int kMaxNesting = 8;  // of our messages: far less
constexpr int kMaxThreads = 4096;

Error Invalid(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

Result<void> RefuseUnknown(const google::protobuf::Message& message, int nesting) {
  const auto* reflection = message.GetReflection();
  if (const auto& unknown = reflection->GetUnknownFields(message); unknown.field_count() > 0) {
    return Invalid(fmt::format("{} has a field {} that this version of ptrace-prof does not know",
                               message.GetDescriptor()->name(), unknown.field(0).number()),
                   "use a client of the server's version, or leave the field out");
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated() ||
        nesting == 0) {
      continue;  // no request has a list of messages
    }
    PP_RETURN_IF_ERROR(RefuseUnknown(reflection->GetMessage(message, field), nesting - 1));
  }
  return {};
}

Result<void> ReadTarget(const v1::Target& target, CaptureRequest& request) {
  if (target.by_case() != v1::Target::kPid) {
    return Invalid("the target is missing", "give target.pid");
  }
  if (target.pid() <= 0) {
    return Invalid(fmt::format("target.pid is {}; process IDs are positive", target.pid()), "");
  }
  request.pid = Pid(target.pid());
  request.start_ticks = target.start_time_ticks();
  return {};
}

Result<Nanos> ReadDuration(std::string_view name, const google::protobuf::Duration& duration) {
  using google::protobuf::util::TimeUtil;
  const bool in_range = duration.seconds() >= 0 && duration.seconds() <= int64_t{366} * 24 * 3600 &&
                        duration.nanos() >= 0 && duration.nanos() < 1'000'000'000;
  if (!in_range) {
    return Invalid(fmt::format("{} is {} s {} ns; it must be 0 (no limit) to 366 days", name, duration.seconds(),
                               duration.nanos()),
                   "");
  }
  return Nanos(TimeUtil::DurationToNanoseconds(duration));
}

Result<void> ReadRate(const v1::SampleOptions& options, CaptureRequest& request) {
  if (options.as_fast_as_possible() && options.rate_hz() != 0) {
    return Invalid("sample.rate_hz and sample.as_fast_as_possible are both given", "leave one of them out");
  }
  if (!std::isfinite(options.rate_hz()) || options.rate_hz() < 0) {
    return Invalid(fmt::format("sample.rate_hz is {}", options.rate_hz()), "give 0.001 to 200000");
  }
  request.rate_hz = options.as_fast_as_possible() ? 0 : options.rate_hz() == 0 ? kDefaultRateHz : options.rate_hz();
  const bool has_rate = options.as_fast_as_possible() || options.rate_hz() > 0;
  if (options.no_overhead_limit() && options.has_max_overhead()) {
    return Invalid("sample.max_overhead and sample.no_overhead_limit are both given", "leave one of them out");
  }
  if (options.has_max_overhead() && !(options.max_overhead() > 0 && options.max_overhead() <= 1)) {
    return Invalid(fmt::format("sample.max_overhead is {}", options.max_overhead()),
                   "give a share of one core, above 0 and at most 1, or no_overhead_limit");
  }
  request.max_overhead = options.no_overhead_limit()  ? 0
                         : options.has_max_overhead() ? options.max_overhead()
                                                      : request.max_overhead;
  if (options.no_stopped_limit() && options.has_max_stopped()) {
    return Invalid("sample.max_stopped and sample.no_stopped_limit are both given", "leave one of them out");
  }
  if (options.has_max_stopped() && !(options.max_stopped() > 0 && options.max_stopped() <= 1)) {
    return Invalid(fmt::format("sample.max_stopped is {}", options.max_stopped()),
                   "give a share of the time, above 0 and at most 1, or no_stopped_limit");
  }
  request.max_stopped = options.no_stopped_limit()  ? 0
                        : options.has_max_stopped() ? options.max_stopped()
                        : has_rate                  ? 0  // who asks for a rate is to have it
                                                    : request.max_stopped;
  return {};
}

Result<void> ReadIdle(const v1::SampleOptions& options, CaptureRequest& request) {
  const std::optional<IdlePolicy> idle = FromMessage(options.idle());
  if (!idle.has_value()) {
    return Invalid(fmt::format("sample.idle is {}, which is not known", static_cast<int>(options.idle())), "");
  }
  request.idle = *idle;
  return {};
}

template <typename Message>
Result<StopPolicy> ReadStops(const Message& message, std::string_view prefix) {
  const bool none = message.nonblocking() || message.no_stops();
  if (message.blocking() && none) {
    return Invalid(fmt::format("{0}blocking stops the process for every sample, and {0}nonblocking forbids it", prefix),
                   "leave one of them out");
  }
  return message.blocking() ? StopPolicy::kAll : none ? StopPolicy::kNone : StopPolicy::kBrief;
}

Result<void> ReadSampling(const v1::SampleOptions& options, CaptureRequest& request) {
  PP_RETURN_IF_ERROR(ReadRate(options, request));
  PP_RETURN_IF_ERROR(ReadIdle(options, request));
  if (options.threads_size() > kMaxThreads) {
    return Invalid(
        fmt::format("sample.threads names {} threads; at most {} can be chosen", options.threads_size(), kMaxThreads),
        "");
  }
  for (const int32_t tid : options.threads()) {
    request.threads.emplace_back(tid);
  }
  PP_ASSIGN_OR_RETURN(request.stops, ReadStops(options, "sample."));
  if (request.rate_hz <= 0 && request.stops == StopPolicy::kBrief) {
    request.stops = StopPolicy::kNone;  // the target would stand still
  }
  request.max_depth = options.max_depth() == 0 ? kDefaultMaxDepth : options.max_depth();
  request.gil_only = options.gil_only();
  request.subprocesses = !options.no_subprocesses();
  request.wait_for_python = options.wait_for_python();
  return {};
}

Result<void> ReadSteps(const v1::TraceOptions& options, CaptureRequest& request) {
  request.trace.steps = options.steps();
  if (options.steps() > kMaxSteps) {
    return Invalid(fmt::format("trace.steps is {}", options.steps()), fmt::format("give at most {}", kMaxSteps));
  }
  if (!options.has_schedule()) {
    return {};
  }
  const v1::StepSchedule& asked = options.schedule();
  const struct {
    const char* name;
    uint32_t value;
  } words[] = {{"skip_first", asked.skip_first()},
               {"wait", asked.wait()},
               {"warmup", asked.warmup()},
               {"active", asked.active()},
               {"repeat", asked.repeat()}};
  for (const auto& word : words) {
    if (word.value > kMaxSteps) {
      return Invalid(fmt::format("trace.schedule.{} is {}", word.name, word.value),
                     fmt::format("give at most {}", kMaxSteps));
    }
  }
  if (asked.active() == 0) {
    return Invalid("trace.schedule.active is 0: no step would be recorded", "give at least 1");
  }
  if (options.steps() > 0) {
    return Invalid("trace.steps and trace.schedule are both given",
                   "leave steps out: a schedule ends with its repeats");
  }
  request.trace.schedule = StepSchedule{.skip_first = asked.skip_first(),
                                        .wait = asked.wait(),
                                        .warmup = asked.warmup(),
                                        .active = asked.active(),
                                        .repeat = asked.repeat()};
  return {};
}

Result<void> ReadOnFull(const v1::TraceOptions& options, CaptureRequest& request) {
  switch (options.on_full()) {
    case v1::ON_FULL_UNSPECIFIED:
    case v1::ON_FULL_DROP: return {};
    case v1::ON_FULL_STOP: request.trace.on_full = OnFull::kStop; return {};
    case v1::ON_FULL_THROTTLE: request.trace.on_full = OnFull::kThrottle; return {};
    default: break;
  }
  return Invalid(fmt::format("trace.on_full is {}, which is not known", static_cast<int>(options.on_full())),
                 "use ON_FULL_DROP, ON_FULL_THROTTLE or ON_FULL_STOP");
}

// What would be left out in silence.
Result<void> RefuseSampling(const v1::SampleOptions& options) {
  const struct {
    const char* name;
    bool is_given;
  } words[] = {{"rate_hz", options.rate_hz() != 0},
               {"as_fast_as_possible", options.as_fast_as_possible()},
               {"max_overhead", options.has_max_overhead()},
               {"no_overhead_limit", options.no_overhead_limit()},
               {"idle", options.idle() != v1::IDLE_POLICY_UNSPECIFIED},
               {"threads", options.threads_size() > 0},
               {"gil_only", options.gil_only()},
               {"blocking", options.blocking()},
               {"nonblocking", options.nonblocking() || options.no_stops()},
               {"max_stopped", options.has_max_stopped()},
               {"no_stopped_limit", options.no_stopped_limit()}};
  for (const auto& word : words) {
    if (word.is_given) {
      return Invalid(fmt::format("sample.{} is about samples, and MODE_TRACE takes none", word.name),
                     "leave it out, or use MODE_SAMPLE, or MODE_AUTO");
    }
  }
  return {};
}

Result<void> ReadGpu(const v1::CaptureSpec& spec, CaptureRequest& request) {
  switch (spec.gpu()) {
    case v1::GPU_DETAIL_UNSPECIFIED: return {};
    case v1::GPU_DETAIL_COARSE: request.gpu = GpuCaptureDetail::kCoarse; return {};
    case v1::GPU_DETAIL_DEFAULT: request.gpu = GpuCaptureDetail::kDefault; return {};
    case v1::GPU_DETAIL_FULL: request.gpu = GpuCaptureDetail::kFull; return {};
    default: break;
  }
  return Because(Reason::kNotYet,
                 fmt::format("gpu {} is not known to this version of ptrace-prof", static_cast<int>(spec.gpu())),
                 "use GPU_DETAIL_COARSE, GPU_DETAIL_DEFAULT or GPU_DETAIL_FULL");
}

// Before they are copied: a request may be megabytes of them.
Result<void> CheckSizes(std::string_view name, const google::protobuf::RepeatedPtrField<std::string>& globs) {
  if (static_cast<size_t>(globs.size()) > kMaxGlobs) {
    return Invalid(fmt::format("trace.{} has {} patterns", name, globs.size()),
                   fmt::format("give at most {}: one pattern may stand for many names", kMaxGlobs));
  }
  for (const std::string& glob : globs) {
    if (glob.size() > kMaxGlobBytes) {
      return Invalid(fmt::format("a pattern of trace.{} has {} bytes", name, glob.size()),
                     fmt::format("give at most {}: * stands for any text", kMaxGlobBytes));
    }
  }
  return {};
}

Result<void> ReadGpuCounters(const v1::CaptureSpec& spec, CaptureRequest& request) {
  switch (spec.gpu_counters()) {
    case v1::GPU_COUNTERS_UNSPECIFIED:
    case v1::GPU_COUNTERS_AUTO: return {};
    case v1::GPU_COUNTERS_ON: request.gpu_counters = GpuCounters::kOn; return {};
    case v1::GPU_COUNTERS_OFF: request.gpu_counters = GpuCounters::kOff; return {};
    default: break;
  }
  return Invalid(fmt::format("gpu_counters is {}, which is not known", static_cast<int>(spec.gpu_counters())),
                 "use GPU_COUNTERS_AUTO, GPU_COUNTERS_ON or GPU_COUNTERS_OFF");
}

Result<void> ReadMode(const v1::CaptureSpec& spec, CaptureRequest& request) {
  switch (spec.mode()) {
    case v1::MODE_UNSPECIFIED:
    case v1::MODE_SAMPLE:
      if (spec.has_trace()) {
        return Invalid("trace goes with MODE_TRACE or MODE_AUTO", "leave it out, or set the mode");
      }
      return {};
    case v1::MODE_TRACE: {
      PP_RETURN_IF_ERROR(RefuseSampling(spec.sample()));
      request.mode = CaptureMode::kTrace;
      break;
    }
    case v1::MODE_AUTO: request.mode = CaptureMode::kAuto; break;
    default:
      return Because(Reason::kNotYet,
                     fmt::format("mode {} is not known to this version of ptrace-prof", static_cast<int>(spec.mode())),
                     "use MODE_SAMPLE, MODE_TRACE or MODE_AUTO");
  }
  request.trace.c_calls = spec.trace().c_calls();
  if (spec.trace().buffer_bytes() != 0) {
    request.trace.buffer_bytes = spec.trace().buffer_bytes();
  }
  if (!(spec.trace().max_overhead() >= 0 && spec.trace().max_overhead() <= 1)) {
    return Invalid(fmt::format("trace.max_overhead is {}", spec.trace().max_overhead()),
                   "give a share of one core, at most 1, or 0 for no limit");
  }
  if (spec.trace().no_overhead_limit() && spec.trace().max_overhead() > 0) {
    return Invalid("trace.max_overhead and trace.no_overhead_limit are both given", "leave one of them out");
  }
  const bool by_default = request.mode == CaptureMode::kAuto && spec.trace().max_overhead() == 0;
  request.trace.max_overhead =
      by_default && !spec.trace().no_overhead_limit() ? kAutoTraceOverhead : spec.trace().max_overhead();
  PP_RETURN_IF_ERROR(CheckSizes("filter", spec.trace().filter()));
  PP_RETURN_IF_ERROR(CheckSizes("exclude", spec.trace().exclude()));
  request.trace.filter.assign(spec.trace().filter().begin(), spec.trace().filter().end());
  request.trace.exclude.assign(spec.trace().exclude().begin(), spec.trace().exclude().end());
  PP_ASSIGN_OR_RETURN(request.trace.min_duration, ReadDuration("trace.min_duration", spec.trace().min_duration()));
  PP_RETURN_IF_ERROR(ReadSteps(spec.trace(), request));
  PP_RETURN_IF_ERROR(ReadOnFull(spec.trace(), request));
  return {};
}

}  // namespace

Result<void> RefuseUnknownFields(const google::protobuf::Message& message) {
  return RefuseUnknown(message, kMaxNesting);
}

Result<CaptureRequest> RequestFrom(const v1::CaptureSpec& spec) {
  CaptureRequest request;
  PP_RETURN_IF_ERROR(ReadTarget(spec.target(), request));
  PP_RETURN_IF_ERROR(ReadMode(spec, request));
  PP_RETURN_IF_ERROR(ReadGpuCounters(spec, request));
  PP_RETURN_IF_ERROR(ReadGpu(spec, request));
  request.force = spec.force();
  if (request.force && request.mode == CaptureMode::kSample && request.gpu == GpuCaptureDetail::kOff) {
    return Invalid("force goes with MODE_TRACE, MODE_AUTO or gpu",
                   "leave it out: samples bring nothing into the target");
  }
  PP_ASSIGN_OR_RETURN(request.duration, ReadDuration("duration", spec.duration()));
  PP_RETURN_IF_ERROR(ReadSampling(spec.sample(), request));
  return DecodeRequest(EncodeRequest(request));  // the ranges are stated there
}

Result<CaptureRequest> RequestFrom(const v1::DumpStacksRequest& dump) {
  CaptureRequest request;
  request.verb = CaptureVerb::kDump;
  request.idle = IdlePolicy::kAll;
  PP_RETURN_IF_ERROR(ReadTarget(dump.target(), request));
  PP_ASSIGN_OR_RETURN(request.stops, ReadStops(dump, ""));
  request.subprocesses = !dump.no_subprocesses();
  request.locals = dump.locals();
  request.max_depth = dump.max_depth() == 0 ? kDefaultMaxDepth : dump.max_depth();
  return DecodeRequest(EncodeRequest(request));
}

}  // namespace ptrace_prof
