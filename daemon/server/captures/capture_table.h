// The captures of a server: those in the list, by ID; the hidden ones (dumps, listings, live views); and those that are
// being started, which count as existing.
//
// Owned by the CaptureRegistry. Has no lock: every call is made under the registry's mutex, on any thread, and what a
// call returns by reference is used under it. Knows no limit, starts nothing, and removes a listed capture only on
// request (capture_retention.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/trace_age.h"

namespace ptrace_prof {

class CaptureTable {
 public:
  using Session = std::shared_ptr<CaptureSession>;
  using Which = std::function<bool(const CaptureParameters&)>;
  struct Entry {
    uint64_t number = 0;  // in the order of creation
    std::string request_id;
    Session session;
    bool is_discarded = false;
    TraceAge age = {};
  };
  using Entries = std::map<std::string, Entry>;

  static bool MaySee(const CaptureSession& session, CaptureUser who) {
    return who.is_administrator || session.parameters().owner == who;
  }
  static bool MaySee(const Entry& entry, CaptureUser who) { return !entry.is_discarded && MaySee(*entry.session, who); }

  Entries& entries() { return entries_; }
  const Entries& entries() const { return entries_; }
  void Add(const Session& session, TraceAge age = {});
  void AddHidden(const Session& session) { hidden_.push_back(session); }
  // Removes hidden captures that have ended and that no call uses.
  void DropHidden();

  // `parameters` stay valid until EndStart.
  using Place = std::list<const CaptureParameters*>::iterator;
  Place BeginStart(const CaptureParameters& parameters) { return starting_.insert(starting_.end(), &parameters); }
  void EndStart(Place place) { starting_.erase(place); }
  bool IsStarting(const Which& which) const;
  bool is_starting_any() const { return !starting_.empty(); }

  std::vector<Session> All() const;                                  // without those that are being started
  std::vector<Session> SeenBy(CaptureUser who) const;                // the listed ones, newest first
  size_t CountRunning(uint32_t owner_uid) const;                     // listed, with those that are being started
  size_t CountHidden(uint32_t owner_uid, const Which& which) const;  // also ended ones, while a call holds them
  size_t CountHiddenRunning(CaptureUser seen_by) const;
  size_t CountGoingOn() const;

  struct CpuUse {
    double cores = 0;  // sum of the shares
    Nanos time;        // used so far
  };
  CpuUse cpu_use() const;  // of the running captures

 private:
  size_t CountStarting(uint32_t owner_uid, const Which& which) const;

  Entries entries_;
  std::list<const CaptureParameters*> starting_;
  // Kept until they have ended: ending a session takes time, and the call that releases it must not wait.
  std::vector<Session> hidden_;
  uint64_t next_number_ = 1;
};

}  // namespace ptrace_prof
