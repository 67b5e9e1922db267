// The answers of ListProcesses: the first page is made from the trace of an ended listing, later pages from the copy
// kept then.
//
// A page token names the kept listing and the position where the page begins. So all pages show the same moment, and
// only the first one looks at the node.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/server/captures/caller_allowance.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/kept_listings.h"

namespace ptraceprof::v1 {
class ListProcessesRequest;
class ListProcessesResponse;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

struct ListingPage {
  std::string listing;  // the ID of a kept listing; empty: the first page
  size_t begin = 0;
  int size = 0;
};

// Where the caller's listings are kept, and what the caller may profile; outlives the call.
struct ListingKeeper {
  KeptListings& listings;
  Uid caller;
  const CallerAllowance& allowance;
};

// kInvalidArgument: an invalid size, or a token that is not ours.
Result<ListingPage> PageFrom(const ptraceprof::v1::ListProcessesRequest& request);

Result<void> AnswerFirstPage(const CaptureSession& ended, const ptraceprof::v1::ListProcessesRequest& request,
                             ListingPage page, const ListingKeeper& keeper, ptraceprof::v1::ListProcessesResponse* out);
// kInvalidArgument: the token's listing is gone, belongs to another user, or has another filter.
Result<void> AnswerLaterPage(const ptraceprof::v1::ListProcessesRequest& request, const ListingPage& page,
                             const ListingKeeper& keeper, ptraceprof::v1::ListProcessesResponse* out);

}  // namespace ptrace_prof
