// The folder in which captures outlive the daemon. For each capture it holds the trace (ID.pftrace), which grows while
// it is recorded, and a record (ID.json), which is written at the start and at the end.
//
// Thread-safe. A lock gives the folder to one daemon at a time; the lock ends with the daemon, however it ends. Files
// are not synchronised, so a crash of the machine may lose data.
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

  // kAlreadyExists: another daemon uses the folder.
  static Result<std::unique_ptr<CaptureShelf>> Open(const std::string& folder);

  // Loads what an earlier daemon left, in the order of creation. A capture that had not ended then counts as ended now:
  // with the end in its trace if the trace is complete, else as kFailed with DAEMON_RESTARTED. Unreadable files stay,
  // and are reported to `on_trouble`. `on_next` is called before each capture, because reading an old trace may take a
  // while.
  std::vector<Found> TakeStock(const std::function<void(const std::string& id)>& on_next,
                               const std::function<void(const Error&)>& on_trouble);

  // Creates the trace and the record of a new capture.
  Result<std::unique_ptr<TraceSpool>> Begin(const CaptureRecord& record);
  // Replaces the record. Does nothing for a removed capture.
  Result<void> Write(const CaptureRecord& record);
  // Removes trace and record; open readers of the trace can go on. After a storage error both are still there.
  Result<void> Remove(const std::string& id);

 private:
  CaptureShelf(UniqueFd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  std::vector<std::string> Ids(const std::function<void(const Error&)>& on_trouble) const;
  Result<Found> TakeOne(const std::string& id, const std::function<void(const Error&)>& on_trouble);
  Result<void> WriteLocked(const CaptureRecord& record);

  const UniqueFd folder_;  // holds the lock
  const std::string path_;
  std::mutex mutex_;
  std::set<std::string> ids_;
};

}  // namespace ptrace_prof
