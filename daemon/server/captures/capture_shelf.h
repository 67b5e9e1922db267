// The folder in which captures outlive the daemon: for each one its trace (ID.pftrace), which grows as it is recorded,
// and a record of what is known of it (ID.json), written when it begins and when it has ended.
//
// Thread-safe. One daemon has the folder at a time, by a lock that goes with it, whatever happens to it. Against a
// crash of the machine nothing is done: files are not synchronised.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"
#include "daemon/server/captures/capture_record.h"
#include "daemon/server/captures/trace_spool.h"

namespace ptrace_prof {

class CaptureShelf {
 public:
  struct Found {
    CaptureRecord record;
    std::unique_ptr<TraceSpool> spool;
    bool was_interrupted = false;
  };

  // kAlreadyExists: another daemon has the folder.
  static Result<std::unique_ptr<CaptureShelf>> Open(const std::string& folder);

  // What an earlier daemon left, in the order of creation. A capture that had not ended then has now: as its trace says
  // where that is whole, else kFailed with DAEMON_RESTARTED. What cannot be read is left where it is, and `on_trouble`
  // hears of it. `on_next` is called before each, which may take a while: an earlier daemon's trace is read.
  std::vector<Found> TakeStock(const std::function<void(const std::string& id)>& on_next,
                               const std::function<void(const Error&)>& on_trouble);

  // A capture begins: the trace for it, and the record.
  Result<std::unique_ptr<TraceSpool>> Begin(const CaptureRecord& record);
  // A new record in place of the one before. Of what was removed, none is written.
  Result<void> Write(const CaptureRecord& record);
  // Trace and record; who reads the trace still, can go on. A StorageError: they are there as before.
  Result<void> Remove(const std::string& id);

 private:
  CaptureShelf(UniqueFd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  std::vector<std::string> Ids(const std::function<void(const Error&)>& on_trouble) const;
  Result<Found> TakeOne(const std::string& id, const std::function<void(const Error&)>& on_trouble);
  Result<void> WriteLocked(const CaptureRecord& record);

  const UniqueFd folder_;  // with the lock
  const std::string path_;
  std::mutex mutex_;
  std::set<std::string> ids_;
};

}  // namespace ptrace_prof
