// Encodes a collector's task as one word of a command line: the serialised message in hexadecimal. So daemon/launcher
// can pass it on without parsing it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

std::string EncodeTask(const CaptureTask& task);  // "task=0a1f…"
// kInvalidArgument: not such a word, or the task is not valid in itself. Input from a caller is not trusted.
Result<CaptureTask> DecodeTask(std::string_view word);

// A canonical form: specs that ask for the same capture give the same bytes.
std::string SerialisedSpec(const v1::CaptureSpec& spec);

}  // namespace ptrace_prof
