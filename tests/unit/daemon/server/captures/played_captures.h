// What the tests of captures in a registry share: the registry, its collectors, whose part the test plays, and
// functions to request captures and to let them end. A test's fixture derives from it, and has the folder.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/server/captures/capture_registry.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"

namespace ptrace_prof {

inline constexpr CaptureUser kAnn{1001};
inline constexpr CaptureUser kBob{1002};
inline constexpr CaptureUser kRoot{0, true};
inline constexpr CaptureUser kContainersRoot{0};
inline constexpr Nanos kPatience = Nanos::FromSeconds(60);

class PlayedCaptures {
 protected:
  using Session = std::shared_ptr<CaptureSession>;

  static CaptureRegistry::Creation CreationBy(CaptureUser owner, const std::string& id = "") {
    CaptureRegistry::Creation creation{.id = id, .request_id = {}, .owner = owner};
    SetTarget(Pid(7), &creation.request);
    return creation;
  }
  Result<Session> Ask(const CaptureRegistry::Creation& creation) {
    return registry_->Create(creation, starter_.access());
  }
  // The collector ends by itself, with a complete trace.
  static void Complete(const Session& session, FakeCollectorState& collector) {
    ASSERT_TRUE(WriteAll(collector.output.get(), SmallTrace()));
    collector.output.reset();
    ASSERT_TRUE(session->WaitForEnd(kPatience));
  }
  // The collector of the capture that began last.
  FakeCollectorState& LastCollector() { return *starter_.started().back(); }
  Session AskAndComplete(const CaptureRegistry::Creation& creation) {
    Session session = Ask(creation).value();
    Complete(session, LastCollector());
    return session;
  }

  FakeStarter starter_;
  std::unique_ptr<CaptureRegistry> registry_;
};

}  // namespace ptrace_prof
