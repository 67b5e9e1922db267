// Converts a capture to its API message. Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "daemon/server/captures/capture_session.h"

namespace ptraceprof::v1 {
class Capture;
class Totals;
enum State : int;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

// The host's name, as a segment of resource names.
const std::string& NodeId();
// "nodes/HOST/captures/ID".
std::string CaptureName(const std::string& id);
// The ID in such a name. kInvalidArgument: not such a name; kNotFound: of another node.
Result<std::string> CaptureIdOf(const std::string& name);

ptraceprof::v1::State StateMessage(CaptureState state);
void FillCapture(const CaptureSession& session, ptraceprof::v1::Capture* out);
void FillTotals(const Accounting& totals, ptraceprof::v1::Totals* out);

}  // namespace ptrace_prof
