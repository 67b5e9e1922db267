// What the calls of all callers share besides the captures: listings that are returned in pages, the account of the
// answers that clients have not read yet, and threads for work that must not block gRPC.
//
// One per server, used by the calls on gRPC's threads and on those of the pool; each part has its own lock, and none is
// held during a call of another part. Made after the CaptureRegistry and destroyed before it, because the pool's jobs
// use it; the servers, whose calls hold shares of the account, have ended by then.
#pragma once

#include "daemon/server/captures/kept_listings.h"
#include "daemon/server/captures/start_pool.h"
#include "daemon/server/captures/unsent_bytes.h"

namespace ptrace_prof {

struct CallResources {
  KeptListings listings{KeptListings::Bounds{}};
  UnsentBytes unsent{UnsentBytes::Bounds{}};
  StartPool pool{4};  // last member: its jobs use all the others
};

}  // namespace ptrace_prof
