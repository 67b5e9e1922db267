// Finds a capture by an ID, a unique prefix of an ID, or a full name. Pure.
#pragma once

#include <span>
#include <string>

#include "attach/base/result.h"
#include "client/remote/remote_capture.h"

namespace ptrace_prof {

// kNotFound: none matches. kInvalidArgument: several match; names them.
Result<RemoteCapture> ChooseCapture(std::span<const RemoteCapture> captures, const std::string& written);

}  // namespace ptrace_prof
