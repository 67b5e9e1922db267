// The answers of ListProcesses: the first page out of the trace of a listing that has ended, the others out of what was
// kept of it then.
//
// A page token names the kept listing and where in it the page begins. So all pages are of one moment, and only the
// first one looks at the node.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/collector.h"
#include "daemon/server/captures/kept_listings.h"

namespace ptraceprof::v1 {
class ListProcessesRequest;
class ListProcessesResponse;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

struct ListingPage {
  std::string listing;  // the ID of a kept one; empty: the first page
  size_t begin = 0;
  int size = 0;
};

// Where listings are kept for whom, and who knows whom that caller may profile; outlives the call.
struct ListingKeeper {
  KeptListings& listings;
  Uid caller;
  CollectorStarter& starter;
};

// kInvalidArgument: a size that is none, a token that is not one of ours.
Result<ListingPage> PageFrom(const ptraceprof::v1::ListProcessesRequest& request);

Result<void> AnswerFirstPage(const CaptureSession& ended, const ptraceprof::v1::ListProcessesRequest& request,
                             ListingPage page, const ListingKeeper& keeper, ptraceprof::v1::ListProcessesResponse* out);
// kInvalidArgument: the token's listing is gone, somebody else's, or of another filter.
Result<void> AnswerLaterPage(const ptraceprof::v1::ListProcessesRequest& request, const ListingPage& page,
                             const ListingKeeper& keeper, ptraceprof::v1::ListProcessesResponse* out);

}  // namespace ptrace_prof
