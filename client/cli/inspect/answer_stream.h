// Reads what a collector answers to a question about processes, until it ends.
#pragma once

#include <functional>
#include <span>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "client/remote/capture_backend.h"

namespace ptrace_prof {

// Hands each part to `feed`. kDeadlineExceeded: the collector did not finish in time and was ended, which harms no
// target.
Result<void> ReadAnswer(CaptureStream& stream, Nanos patience,
                        const std::function<Result<void>(std::span<const std::byte>)>& feed);

}  // namespace ptrace_prof
