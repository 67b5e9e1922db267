#include "rpc/messages/check_spec.h"

#include <fmt/args.h>
#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <set>
#include <string>

#include "rpc/messages/metadata.h"
#include "rpc/messages/name_glob.h"
#include "rpc/messages/option_text.h"
#include "rpc/messages/spec_rules.h"

namespace ptrace_prof {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Error Invalid(std::string message, std::string remedy) {
  return Error{Code::kInvalidArgument, std::move(message), std::move(remedy)};
}

// "give 1 to 4096", in the units that a person would use.
std::string Allowed(const OptionRow& row, SpecDoor door) {
  const v1::Option& option = row.option;
  constexpr double kMiB = 1024.0 * 1024;
  const std::string range =
      option.kind() == v1::Option::SIZE ? fmt::format("{:g} MiB to {:g} MiB", option.min() / kMiB, option.max() / kMiB)
      : option.kind() == v1::Option::TIME  ? std::string("0 (no limit) to 366 days")
      : option.kind() == v1::Option::SHARE ? std::string("a share above 0 and at most 1 (100 %)")
                                           : fmt::format("{:.9g} to {:.9g}", option.min(), option.max());
  const std::string& unlimited = door == SpecDoor::kFields ? option.unlimited() : option.unlimited_word();
  return unlimited.empty() ? "give " + range : fmt::format("give {}, or {}", range, unlimited);
}

Error OutOfRange(const OptionRow& row, SpecDoor door, const std::string& value) {
  return Invalid(fmt::format("{} is {}, which is out of range", NameOf(row, door), value), Allowed(row, door));
}

double NumberOf(const Message& holder, const FieldDescriptor& field) {
  const auto& reflection = *holder.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.GetDouble(holder, &field);
    case FieldDescriptor::CPPTYPE_INT32: return reflection.GetInt32(holder, &field);
    case FieldDescriptor::CPPTYPE_UINT32: return reflection.GetUInt32(holder, &field);
    default: return static_cast<double>(reflection.GetUInt64(holder, &field));
  }
}

bool IsIn(const v1::Option& option, double number) {  // written so that NaN is not
  const bool has_bounds = option.min() != 0 || option.max() != 0;
  const bool is_share = option.kind() == v1::Option::SHARE;  // a share of 0 cannot be given
  return !has_bounds || (number >= option.min() && number <= option.max() && !(is_share && number == 0));
}

using Check = Result<void> (*)(const OptionRow&, const Message&, SpecDoor);

Result<void> CheckNothing(const OptionRow&, const Message&, SpecDoor) { return {}; }

Result<void> CheckNumber(const OptionRow& row, const Message& holder, SpecDoor door) {
  const double number = NumberOf(holder, row.field());
  return IsIn(row.option, number) ? Result<void>() : OutOfRange(row, door, fmt::format("{:.9g}", number));
}

Result<void> CheckTime(const OptionRow& row, const Message& holder, SpecDoor door) {
  const auto& time =
      static_cast<const google::protobuf::Duration&>(holder.GetReflection()->GetMessage(holder, &row.field()));
  const auto most = static_cast<int64_t>(row.option.max());
  const bool is_in = time.seconds() >= 0 && time.nanos() >= 0 && time.nanos() < 1'000'000'000 &&
                     (time.seconds() < most || (time.seconds() == most && time.nanos() == 0));
  return is_in ? Result<void>() : OutOfRange(row, door, fmt::format("{} s {} ns", time.seconds(), time.nanos()));
}

Result<void> CheckChoice(const OptionRow& row, const Message& holder, SpecDoor door) {
  const int number = holder.GetReflection()->GetEnumValue(holder, &row.field());
  if (row.field().enum_type()->FindValueByNumber(number) != nullptr) {
    return {};
  }
  return Because(Reason::kNotYet,
                 fmt::format("{} is {}, which this version of ptrace-prof does not know", NameOf(row, door), number),
                 fmt::format("use one of: {}", fmt::join(ChoicesOf(row), ", ")));
}

// Checks before copying anything: a request may hold megabytes of patterns.
Result<void> CheckGlobs(const OptionRow& row, const Message& holder, SpecDoor door) {
  const int count = holder.GetReflection()->FieldSize(holder, &row.field());
  if (static_cast<uint32_t>(count) > row.option.most()) {
    return Invalid(fmt::format("{} is given {} times", NameOf(row, door), count),
                   fmt::format("give at most {}: one pattern can match many names", row.option.most()));
  }
  std::string unused;
  for (int i = 0; i < count; ++i) {
    const std::string& glob = holder.GetReflection()->GetRepeatedStringReference(holder, &row.field(), i, &unused);
    if (auto compiled = NameGlob::Compile(glob); compiled.has_error()) {
      return Invalid(fmt::format("{}: {}", NameOf(row, door), compiled.error().message), compiled.error().remedy);
    }
  }
  return {};
}

Result<void> CheckPairs(const OptionRow& row, const Message& holder, SpecDoor door) {
  const int count = holder.GetReflection()->FieldSize(holder, &row.field());
  if (static_cast<uint32_t>(count) > row.option.most()) {
    return Invalid(fmt::format("{} is given {} times", NameOf(row, door), count),
                   fmt::format("give at most {}", row.option.most()));
  }
  std::set<std::string> keys;
  std::string unused;
  for (int i = 0; i < count; ++i) {
    const auto pair =
        ParseMetadata(holder.GetReflection()->GetRepeatedStringReference(holder, &row.field(), i, &unused));
    if (pair.has_error()) {
      return Invalid(fmt::format("{}: {}", NameOf(row, door), pair.error().message), pair.error().remedy);
    }
    if (!keys.insert(pair.value().first).second) {
      return Invalid(fmt::format("{}: {} is given twice", NameOf(row, door), pair.value().first),
                     "leave one of them out");
    }
  }
  return {};
}

Result<void> CheckIds(const OptionRow& row, const Message& holder, SpecDoor door) {
  const int count = holder.GetReflection()->FieldSize(holder, &row.field());
  if (static_cast<uint32_t>(count) > row.option.most()) {
    return Invalid(fmt::format("{} lists {} ids", NameOf(row, door), count),
                   fmt::format("list at most {}, or none for all threads", row.option.most()));
  }
  for (int i = 0; i < count; ++i) {
    const int32_t id = holder.GetReflection()->GetRepeatedInt32(holder, &row.field(), i);
    if (!IsIn(row.option, id)) {
      return OutOfRange(row, door, std::to_string(id));
    }
  }
  return {};
}

// Indexed by kind, in the order of the enum.
constexpr Check kChecks[] = {CheckNothing, CheckNothing, CheckChoice, CheckNumber, CheckNumber,  CheckTime,
                             CheckNumber,  CheckNumber,  CheckGlobs,  CheckIds,    CheckNothing, CheckPairs};
static_assert(std::size(kChecks) == v1::Option::Kind_ARRAYSIZE);

std::string ModesText(v1::Option::Modes modes, SpecDoor door) {
  const std::string one = NameOf(modes == v1::Option::CALLS ? v1::MODE_TRACE : v1::MODE_SAMPLE, door);
  return modes == v1::Option::SAMPLES_ONLY ? one : fmt::format("{} or {}", one, NameOf(v1::MODE_AUTO, door));
}

Result<void> CheckMode(const OptionRow& row, v1::Mode asked, SpecDoor door, const std::string& name) {
  const v1::Mode mode = asked == v1::MODE_UNSPECIFIED ? v1::MODE_SAMPLE : asked;
  if (GoesWith(row.option.modes(), mode)) {
    return {};
  }
  return Invalid(fmt::format("{} needs {}, not {}", name, ModesText(row.option.modes(), door), NameOf(mode, door)),
                 fmt::format("leave {} out, or change the mode", name));
}

Result<void> CheckRow(const OptionRow& row, const v1::CaptureSpec& spec, SpecDoor door) {
  const bool is_unlimited = IsUnlimited(row, spec);
  const bool is_given = IsGiven(row, spec);
  if (!is_given && !is_unlimited) {
    return {};
  }
  const bool is_named = is_given || door == SpecDoor::kCommandLine;
  const std::string beside = row.path.substr(0, row.path.rfind('.') + 1) + row.option.unlimited();
  PP_RETURN_IF_ERROR(CheckMode(row, spec.mode(), door, is_named ? NameOf(row, door) : beside));
  if (is_given && is_unlimited) {
    return Invalid(fmt::format("{} and {} are both given", NameOf(row, door), row.option.unlimited()),
                   "leave one of them out");
  }
  return is_given ? kChecks[row.option.kind()](row, HolderOf(row, spec), door) : Result<void>();
}

// A requested rate is kept: no limit on stopped time may lower it then.
double DefaultMaxStopped(const v1::SampleOptions& sample) {
  return sample.rate_hz() != 0 || sample.as_fast_as_possible() ? 0 : kDefaultMaxStopped;
}

Result<void> CheckVerb(const CaptureTask& task) {
  const bool needs_target = task.verb() == CaptureTask::RECORD || task.verb() == CaptureTask::DUMP;
  const bool has_target = task.spec().target().pid() != 0;
  if (needs_target && !has_target) {
    return Invalid("target.pid is missing", "give target.pid");
  }
  if (task.verb() == CaptureTask::LIST && has_target) {
    return Invalid("a list covers all processes, but a target is given", "leave the target out");
  }
  if (task.verb() != CaptureTask::RECORD && EntersTarget(task.spec())) {
    return Invalid("traced calls, the GPU and PyTorch need a recording", "leave mode, gpu and torch out, or record");
  }
  if (task.locals() && task.verb() != CaptureTask::DUMP) {
    return Invalid("locals need a dump of stacks", "leave locals out");
  }
  return {};
}

}  // namespace

Result<void> CheckMode(const OptionRow& row, v1::Mode mode, SpecDoor door) {
  return CheckMode(row, mode, door, NameOf(row, door));
}

Result<void> CheckSpec(const v1::CaptureSpec& spec, SpecDoor door) {
  for (const OptionRow& row : OptionTable()) {
    PP_RETURN_IF_ERROR(CheckRow(row, spec, door));
  }
  for (const SpecRule& rule : SpecRules()) {
    if (rule.is_broken(spec)) {
      fmt::dynamic_format_arg_store<fmt::format_context> names;
      for (const std::string_view path : rule.paths) {
        const OptionRow& row = OptionAt(path);
        const bool has_short = door == SpecDoor::kCommandLine && !row.option.short_flag().empty();
        names.push_back(has_short ? row.option.short_flag() : NameOf(row, door));
      }
      return Invalid(fmt::vformat(rule.sentence, names), fmt::vformat(rule.remedy, names));
    }
  }
  return {};
}

void FillDefaults(v1::CaptureSpec* spec) {
  spec->set_mode(spec->mode() == v1::MODE_UNSPECIFIED ? v1::MODE_SAMPLE : spec->mode());
  if (GoesWith(v1::Option::SAMPLES, spec->mode())) {
    v1::SampleOptions& sample = *spec->mutable_sample();
    if (const double share = DefaultMaxStopped(sample); !sample.has_max_stopped() && !sample.no_stopped_limit()) {
      share > 0 ? sample.set_max_stopped(share) : sample.set_no_stopped_limit(true);
    }
    sample.set_nonblocking(sample.nonblocking() || sample.no_stops());
    sample.clear_no_stops();
  }
  if (spec->mode() == v1::MODE_AUTO && spec->trace().max_overhead() == 0 && !spec->trace().no_overhead_limit()) {
    spec->mutable_trace()->set_max_overhead(kAutoTraceOverhead);
  }
  for (const OptionRow& row : OptionTable()) {
    const bool is_wanted = !row.option.fallback().empty() && GoesWith(row.option.modes(), spec->mode());
    if (is_wanted && !IsGiven(row, *spec) && !IsUnlimited(row, *spec)) {
      (void)SetOption(row, row.option.fallback(), spec);  // a test parses all defaults
    }
  }
}

Result<void> CheckTask(const CaptureTask& task) {
  PP_RETURN_IF_ERROR(CheckVerb(task));
  if (!CaptureTask::Verb_IsValid(task.verb()) || !IsPrintable(task) || task.longest().seconds() < 0 ||
      task.longest().nanos() < 0) {
    return Invalid("the task of a collector has a value out of range", "");
  }
  return CheckSpec(task.spec(), SpecDoor::kFields);
}

}  // namespace ptrace_prof
