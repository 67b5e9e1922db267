#include "rpc/messages/task_from_message.h"

#include <fmt/format.h>

#include <vector>

#include "rpc/messages/check_spec.h"

namespace ptrace_prof {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxNesting = 8;  // our messages nest far less

Result<void> RefuseUnknown(const Message& message, int nesting) {
  const auto* reflection = message.GetReflection();
  if (const auto& unknown = reflection->GetUnknownFields(message); unknown.field_count() > 0) {
    return Error{Code::kInvalidArgument,
                 fmt::format("{} has a field {} that this version of ptrace-prof does not know",
                             message.GetDescriptor()->name(), unknown.field(0).number()),
                 "use a client of the server's version, or leave the field out"};
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated() && nesting > 0) {
      // No request has a list of messages.
      PP_RETURN_IF_ERROR(RefuseUnknown(reflection->GetMessage(message, field), nesting - 1));
    }
  }
  return {};
}

Result<CaptureTask> CheckedAndFilled(CaptureTask task) {
  PP_RETURN_IF_ERROR(CheckTask(task));
  FillDefaults(task.mutable_spec());
  return task;
}

}  // namespace

Result<void> RefuseUnknownFields(const Message& message) { return RefuseUnknown(message, kMaxNesting); }

Result<CaptureTask> TaskFrom(const v1::CaptureSpec& spec) {
  CaptureTask task;
  *task.mutable_spec() = spec;
  return CheckedAndFilled(std::move(task));
}

Result<CaptureTask> TaskFrom(const v1::DumpStacksRequest& dump) {
  CaptureTask task;
  task.set_verb(CaptureTask::DUMP);
  task.set_locals(dump.locals());
  *task.mutable_spec()->mutable_target() = dump.target();
  v1::SampleOptions& sample = *task.mutable_spec()->mutable_sample();
  sample.set_idle(v1::IDLE_POLICY_ALL);
  sample.set_blocking(dump.blocking());
  sample.set_nonblocking(dump.nonblocking());
  sample.set_no_stops(dump.no_stops());
  sample.set_no_subprocesses(dump.no_subprocesses());
  sample.set_max_depth(dump.max_depth());
  return CheckedAndFilled(std::move(task));
}

v1::DumpStacksRequest DumpRequestOf(const CaptureTask& task) {
  v1::DumpStacksRequest dump;
  const v1::SampleOptions& sample = task.spec().sample();
  *dump.mutable_target() = task.spec().target();
  dump.set_locals(task.locals());
  dump.set_blocking(sample.blocking());
  dump.set_nonblocking(sample.nonblocking());
  dump.set_no_subprocesses(sample.no_subprocesses());
  dump.set_max_depth(sample.max_depth());
  return dump;
}

}  // namespace ptrace_prof
