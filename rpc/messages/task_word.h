// A task of a collector as one word of a command line: the serialised message in hexadecimal, so that whoever hands it
// on (daemon/launcher) need not look into it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

std::string EncodeTask(const CaptureTask& task);  // "task=0a1f…"
// kInvalidArgument: it is no such word, or the task is not in itself right. Nothing from a caller is trusted.
Result<CaptureTask> DecodeTask(std::string_view word);

// A spec in a form in which two that ask for the same are the same bytes.
std::string SerialisedSpec(const v1::CaptureSpec& spec);

}  // namespace ptrace_prof
