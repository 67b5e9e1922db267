// The answer of ListProcesses, out of the trace of a listing that has ended.
//
// A page begins after the process ID in its token, so that pages stay in order although processes come and go
// meanwhile.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/session/capture_session.h"

namespace ptraceprof::v1 {
class ListProcessesRequest;
class ListProcessesResponse;
class ProcessFilter;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

struct ListingPage {
  Pid after;
  int size = 0;
};

Result<ListingPage> PageFrom(const ptraceprof::v1::ListProcessesRequest& request);
Result<void> FillListing(const CaptureSession& session, const ListingPage& page,
                         const ptraceprof::v1::ProcessFilter& filter, ptraceprof::v1::ListProcessesResponse* out);

}  // namespace ptrace_prof
