// Which capture somebody means by what was written: an ID, the unmistakable beginning of one, or a full name. Pure.
#pragma once

#include <span>
#include <string>

#include "attach/base/result.h"
#include "client/remote/remote_capture.h"

namespace ptrace_prof {

// kNotFound: none. kInvalidArgument: more than one; names them.
Result<RemoteCapture> ChooseCapture(std::span<const RemoteCapture> captures, const std::string& written);

}  // namespace ptrace_prof
