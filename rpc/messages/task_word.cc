#include "rpc/messages/task_word.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "attach/base/hexadecimal.h"
#include "rpc/messages/check_spec.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kKey = "task=";

Error NotATask(std::string_view why) {
  return Error{Code::kInvalidArgument, "invalid task of a collector: " + std::string(why), ""};
}

}  // namespace

std::string EncodeTask(const CaptureTask& task) { return std::string(kKey) + ToHexadecimal(task.SerializeAsString()); }

Result<CaptureTask> DecodeTask(std::string_view word) {
  if (!word.starts_with(kKey)) {
    return NotATask("it does not begin with task=");
  }
  const auto bytes = FromHexadecimal(word.substr(kKey.size()));
  CaptureTask task;
  if (!bytes.has_value() || !task.ParseFromString(*bytes)) {
    return NotATask("it cannot be read");
  }
  PP_RETURN_IF_ERROR(RefuseUnknownFields(task));
  PP_RETURN_IF_ERROR(CheckTask(task));
  return task;
}

std::string SerialisedSpec(const v1::CaptureSpec& spec) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  spec.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

}  // namespace ptrace_prof
