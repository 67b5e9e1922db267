// ptrace-profd, the daemon: connects the launcher, the captures, the services and the socket.
//
//   one thread, all rights:  socket bound ─► launcher forked ─► rights dropped
//   no rights:               captures, gRPC, until a signal ─► drained (drain.h) ─► exit 0
// The launcher removes the socket's file (launcher_process.h), because the daemon no longer has the right to if root
// started it. A socket that a service manager passed (passed_socket.h) stays.

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "attach/base/real_time.h"
#include "attach/base/root_environment.h"
#include "attach/base/sanitizers.h"
#include "attach/base/standard_descriptors.h"
#include "attach/base/user_report_limits.h"
#include "attach/base/wall_clock.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/collector_main.h"
#include "daemon/launcher/launcher_process.h"
#include "daemon/peer_services.h"
#include "daemon/server/captures/collector_process.h"
#include "daemon/server/metrics/capture_metrics.h"
#include "daemon/server/metrics/scrape_server.h"
#include "daemon/server/program/audit_log.h"
#include "daemon/server/program/daemon_log.h"
#include "daemon/server/program/daemon_options.h"
#include "daemon/server/program/daemon_user.h"
#include "daemon/server/program/descriptor_shares.h"
#include "daemon/server/program/door_adapter.h"
#include "daemon/server/program/drain.h"
#include "daemon/server/program/metrics_socket.h"
#include "daemon/server/program/passed_socket.h"
#include "daemon/server/program/policy_source.h"
#include "daemon/server/program/remote_callers.h"
#include "daemon/server/program/service_notice.h"
#include "daemon/server/program/spool_folder.h"
#include "daemon/server/program/system_call_wall.h"
#include "daemon/server/program/termination.h"
#include "rpc/library_log.h"
#include "rpc/tls/tcp_socket.h"
#include "rpc/tls/tls_door.h"
#include "rpc/unix/unix_listener.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kExpireEvery = Nanos::FromSeconds(10);
constexpr Nanos kForOneTrace = Nanos::FromSeconds(300);  // to measure a trace of an earlier daemon
constexpr Nanos kReapPatience = Nanos::FromSeconds(10);
constexpr int kReapPauseMs = 5;
constexpr int kFailedStatus = 1;
constexpr rlim_t kFewestDescriptors = 256;
constexpr char kTcpOption[] = "--listen-tcp";
const PeerIdentity kNobody{.uid = 0xffffffff, .gid = 0xffffffff, .groups = {}, .pid = {}};
constexpr int kTcpBacklog = 128;
constexpr size_t kReservedConnections = 16;  // so that an administrator can still connect when all others are in use

// The results of the steps that need rights or a single thread.
struct Prepared {
  LauncherProcess launcher;
  UniqueFd socket;
  std::string address;    // the path of the socket
  bool is_lent = false;   // the socket was passed to us
  MetricsSocket metrics;  // not open: none
  TcpListener tcp;        // not open: none
  std::optional<TlsServer> tls;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<CaptureShelf> shelf;
  std::unique_ptr<PolicySource> policy;
  DaemonUser user;
  Uid owner;  // the user who started us, and who may connect
};

// The files of our sockets. The launcher removes them, because it has the right to.
Result<std::vector<UnixSocketFile>> FindFiles(const std::vector<std::string>& paths) {
  std::vector<UnixSocketFile> files;
  for (const std::string& path : paths) {
    if (!path.empty()) {
      PP_ASSIGN_OR_RETURN(files.emplace_back(), FindUnixSocket(path));
    }
  }
  return files;
}

// Call while the process still has the right to read the key.
Result<void> ListenForRemote(const DaemonOptions& options, Prepared& prepared) {
  if (options.tcp.empty()) {
    return {};
  }
  PP_ASSIGN_OR_RETURN(prepared.tls, TlsServer::Load(options.tls));
  PP_ASSIGN_OR_RETURN(const TcpEndpoint endpoint, ParseTcpEndpoint(options.tcp, kTcpOption));
  PP_ASSIGN_OR_RETURN(prepared.tcp, ListenOnTcp(endpoint, kTcpOption, kTcpBacklog));
  return {};
}

// A passed socket's file is not ours, so the launcher does not remove it.
Result<void> StartLauncher(const DaemonOptions& options, Prepared& prepared) {
  AllowRealTime();  // for the collectors, which have lost the right to it by then
  if (!options.metrics.empty()) {
    const ScrapeReach reach = options.metrics_remote ? ScrapeReach::kAnywhere : ScrapeReach::kThisMachine;
    PP_ASSIGN_OR_RETURN(prepared.metrics, ListenForScrapers(options.metrics, reach));
  }
  PP_ASSIGN_OR_RETURN(auto passed, TakePassedSocket());
  if (passed.has_value()) {
    prepared.socket = std::move(passed->fd);
    prepared.address = std::move(passed->address);
    prepared.is_lent = true;
  } else {
    const SocketAccess access = options.multi_user ? SocketAccess::kEverybody : SocketAccess::kOwner;
    prepared.address = options.socket;
    PP_ASSIGN_OR_RETURN(prepared.socket, ListenOnUnixSocket(options.socket, access));
  }
  PP_ASSIGN_OR_RETURN(const auto files, FindFiles({passed.has_value() ? "" : options.socket, prepared.metrics.path}));
  const bool waives_yama = options.multi_user && PolicySource::WaivesYama(options.policy, prepared.owner);
  PP_ASSIGN_OR_RETURN(prepared.launcher,
                      ForkLauncher(
                          prepared.socket, [&files] { std::for_each(files.begin(), files.end(), RemoveUnixSocket); },
                          waives_yama ? YamaRule::kWaived : YamaRule::kObeyed));
  return {};
}

Result<Prepared> Prepare(const DaemonOptions& options) {
  Prepared prepared;
  prepared.owner = Uid(::getuid());
  PP_ASSIGN_OR_RETURN(prepared.user, ChooseDaemonUser());
  PP_RETURN_IF_ERROR(StartLauncher(options, prepared));
  PP_RETURN_IF_ERROR(ListenForRemote(options, prepared));  // after the fork: the launcher must not have the key
  prepared.audit = AuditLog::None();
  if (!options.audit.empty()) {
    PP_ASSIGN_OR_RETURN(prepared.audit, AuditLog::Open(options.audit));
  }
  PP_RETURN_IF_ERROR(PrepareSpoolFolder(options.spool, prepared.user));
  PP_RETURN_IF_ERROR(DropRights(prepared.user));
  if (!RaiseSystemCallWall()) {
    if (options.multi_user && !kIsSanitized) {  // launcher and collectors get no filter either
      return Error{Code::kFailedPrecondition,
                   "the kernel refuses a seccomp filter, without which ptrace-profd does not serve every user",
                   "run a kernel with CONFIG_SECCOMP_FILTER, or leave out --multi-user"};
    }
    Log(LogLevel::kWarning, "no_system_call_filter",
        {{"message", "the kernel refuses a seccomp filter for the main process, which goes on without it"}});
  }
  PP_ASSIGN_OR_RETURN(prepared.policy, PolicySource::Open(options.policy, prepared.owner));
  if (prepared.tls.has_value()) {
    PP_RETURN_IF_ERROR(prepared.tls->trust()->ReadRevoked());  // checks that it can be read again without rights
  }
  PP_RETURN_IF_ERROR(TrySpoolFolder(options.spool));
  PP_ASSIGN_OR_RETURN(prepared.shelf, CaptureShelf::Open(options.spool));
  return prepared;
}

// Limits per user, so that no user takes all descriptors.
DescriptorShares Shares() {
  rlimit limit{};
  return SharesOf(::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY);
}

// Raises the limit as far as allowed: a connection needs one to three descriptors, a capture more.
Result<void> RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {};
  }
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kFewestDescriptors) {
    return {};
  }
  return Because(Reason::kOutOfResources,
                 fmt::format("ptrace-profd may have {} open files, and wants {}", limit.rlim_max, kFewestDescriptors),
                 "raise the hard limit (ulimit -Hn, LimitNOFILE=)");
}

// Reads again what an administrator may change while we run: the policy and the revocation lists.
void Reread(PolicySource& policy, const std::optional<TlsServer>& tls) {
  policy.Reload();
  if (!tls.has_value() || tls->trust()->revoked().empty()) {
    return;
  }
  const std::string& file = tls->trust()->revoked();
  if (auto read = tls->trust()->ReadRevoked(); read.has_error()) {
    read.error().message = "the list from before still holds: " + read.error().message;
    Log(LogLevel::kError, "revoked_unchanged", read.error());
    return;
  }
  Log(LogLevel::kInfo, "revoked_read_again",
      {{"file", file}, {"certificates", std::to_string(tls->trust()->CountRevoked())}});
}

// Waits for a signal to end, and returns it; 0: the launcher has ended. Meanwhile expires old captures and listings,
// and reports to the service manager.
int AwaitEnd(Termination& termination, const SharedParts& shared, const std::function<void()>& reread,
             ServiceNotice& notice) {
  const Nanos pause = std::min(kExpireEvery, notice.alive_every().value_or(kExpireEvery));
  const UniqueFd launchers_end = shared.launcher->OpenPidfd();
  for (;;) {
    if (const int signal = termination.Await(pause, launchers_end.get()); signal == SIGHUP) {
      reread();
    } else if (signal != 0) {
      Log(LogLevel::kInfo, "ending", {{"signal", std::to_string(signal)}});
      return signal;
    }
    shared.resources.listings.Expire();
    shared.captures.Expire();
    notice.Alive();
    if (!shared.launcher->is_up() || (launchers_end.is_open() && HasExited(launchers_end))) {
      Log(LogLevel::kError, "launcher_ended");
      return 0;
    }
  }
}

RegistryListener ListenerFor(CaptureMetrics& metrics) {
  return {.on_forgotten =
              [&metrics](const ForgottenCapture& capture) {
                metrics.Forgotten(capture);
                Log(LogLevel::kInfo, "capture_forgotten",
                    {{"capture", capture.id},
                     {"uid", std::to_string(capture.owner_uid)},
                     {"bytes", std::to_string(capture.bytes)},
                     {"why", std::string(capture.why)}});
              },
          .on_trouble = [](const Error& error) { Log(LogLevel::kWarning, "spool_trouble", error); },
          .on_end = [&metrics](const auto& parameters, const auto& end) { metrics.Ended(parameters, end); }};
}

// Restores the captures of an earlier daemon. Measuring an unfinished trace may take a second per gigabyte, or more.
void Restore(CaptureRegistry& captures, ServiceNotice& notice) {
  const auto restored = captures.Restore(
      [&notice](const std::string& id) { notice.Starting("Reading what is left of capture " + id, kForOneTrace); });
  if (restored.captures > 0) {
    Log(LogLevel::kInfo, "restored",
        {{"captures", std::to_string(restored.captures)}, {"interrupted", std::to_string(restored.interrupted)}});
  }
}

// Null without a metrics socket.
Result<std::unique_ptr<ScrapeServer>> AnswerScrapers(MetricsSocket socket, const CaptureMetrics& metrics,
                                                     CaptureRegistry& captures, const PolicySource& policy) {
  if (!socket.fd.is_open()) {
    return std::unique_ptr<ScrapeServer>();
  }
  Log(LogLevel::kInfo, "metrics", {{"address", socket.address}});
  return ScrapeServer::Start(std::move(socket.fd), [&] {
    CaptureUsage usage = captures.Usage({0, true});
    usage.cpu_budget = policy.cpu_budget();
    return metrics.Page(usage);
  });
}

DaemonFacts FactsOf(const Prepared& prepared, const DaemonOptions& options) {
  std::error_code unknown;  // on an error, the path as given
  const auto audit = std::filesystem::absolute(options.audit, unknown);
  return {.address = "unix:" + prepared.address,
          .audit = options.audit.empty() || unknown ? options.audit : audit.string(),
          .metrics = prepared.metrics.address,
          .owner = prepared.owner,
          .started = RealtimeNow(),
          .multi_user = options.multi_user};
}

// Handles a refused connection, local or remote. The launcher may forget the peer, because no request follows and it
// remembers a bounded number.
auto Refusal(const SharedParts& shared) {
  return [audit = shared.audit, launcher = shared.launcher](const PeerIdentity& peer, const Error& why, size_t times) {
    Log(LogLevel::kWarning, "connection_refused", why);
    if (peer.number != 0) {
      launcher->ForgetPeer(PeerNumber(peer.number));
    }
    audit->Write(
        {.caller = peer, .what = "connect", .target = {}, .outcome = OutcomeOf(why), .error = why, .times = times});
  };
}

// Limits how often refusals of one user are logged. The others are counted with that user's next entry.
auto RefusalOfMany(const SharedParts& shared) {
  return [refuse = Refusal(shared), reported = std::make_shared<UserReportLimits>(), launcher = shared.launcher](
             const PeerIdentity& peer, const Error& why) {
    const auto unreported = reported->Report(peer.uid, MonotonicNow());
    if (unreported.has_value()) {
      refuse(peer, WithUnreported(why, *unreported), 1 + *unreported);
    } else if (peer.number != 0) {
      launcher->ForgetPeer(PeerNumber(peer.number));
    }
  };
}

Result<std::unique_ptr<UnixListener>> ListenLocally(Prepared& prepared, std::unique_ptr<Doorkeeper> door,
                                                    const DaemonOptions& options, const SharedParts& shared) {
  return UnixListener::Start(std::move(prepared.socket),
                             {.admit = options.multi_user ? [](const PeerIdentity&) -> Result<void> { return {}; }
                                                          : AdmitOnly({prepared.owner, Uid(0)}),
                              .max_connections = Shares().connections,
                              .reserved = std::min(kReservedConnections, Shares().connections / 4),
                              .max_per_user = Shares().connections_per_user,
                              .on_refused = RefusalOfMany(shared),
                              .doorkeeper = std::move(door),
                              .is_lent = prepared.is_lent},
                             [&](const PeerIdentity& peer) { return std::make_unique<PeerServices>(peer, shared); });
}

// Sends the launcher the users that we may vouch for (none without --listen-tcp). Must happen before we listen.
Result<std::optional<RemoteCallers>> SettleRemote(const Prepared& prepared, LauncherConnection& launcher) {
  std::optional<RemoteCallers> callers;
  if (prepared.tls.has_value()) {
    PP_ASSIGN_OR_RETURN(callers, RemoteCallers::Open(*prepared.policy, prepared.owner, *prepared.tls));
  }
  PP_RETURN_IF_ERROR(launcher.Vouch(callers.has_value() ? callers->vouched() : std::vector<Vouching>()));
  return callers;
}

// Null without a TCP listener.
Result<std::unique_ptr<UnixListener>> ListenRemotely(Prepared& prepared, const std::optional<RemoteCallers>& callers,
                                                     const SharedParts& shared) {
  if (!callers.has_value()) {
    return std::unique_ptr<UnixListener>();
  }
  const auto refuse = Refusal(shared);
  PP_ASSIGN_OR_RETURN(
      auto door,
      TlsDoor::Start(std::move(prepared.tcp.fd), *prepared.tls,
                     {.identify = [&callers](const PeerCertificate& one) { return callers->Identify(one); },
                      .on_refused = [refuse](const Error& why, size_t times) { refuse(kNobody, why, times); }}));
  Log(LogLevel::kInfo, "listening_tcp", {{"address", prepared.tcp.address}});
  return UnixListener::Start(
      UniqueFd(),
      {.admit = [](const PeerIdentity&) -> Result<void> { return {}; },
       .max_connections = Shares().connections,
       .max_per_user = Shares().connections_per_user,
       .on_refused = RefusalOfMany(shared),
       .doorkeeper = std::move(door)},
      [&](const PeerIdentity& peer) { return std::make_unique<RemoteServices>(peer, shared, *callers); });
}

// Only the launcher may start collectors, so the daemon must be started again.
Error LauncherEnded() {
  return {Code::kUnavailable, "the launcher, which starts the collectors, has ended: it was killed, or has failed",
          "start ptrace-profd again (systemd does, by the unit in packaging/systemd)"};
}

Result<void> Serve(Prepared prepared, const DaemonOptions& options, Termination& termination, ServiceNotice& notice) {
  auto door = std::make_unique<DoorAdapter>(std::move(prepared.launcher.door));
  PP_ASSIGN_OR_RETURN(const auto launcher, LauncherConnection::Open(std::move(prepared.launcher)));
  AuditLog* const audit = prepared.audit.get();
  PolicySource& policy = *prepared.policy;
  CaptureMetrics metrics;
  audit->ReportToo([&metrics](const AuditEntry& entry) {
    metrics.Decided(entry.what, OutcomeName(entry.outcome), ReasonOf(entry.error), entry.times);
  });
  PP_ASSIGN_OR_RETURN(const auto callers, SettleRemote(prepared, *launcher));
  CaptureLimits limits = options.limits;
  limits.captures_per_user = std::min(limits.captures_per_user, Shares().captures_per_user);
  limits.live_per_user = std::min(limits.live_per_user, Shares().live_per_user);
  CaptureRegistry captures(options.spool, limits, std::move(prepared.shelf), ListenerFor(metrics));
  Restore(captures, notice);
  const DaemonFacts facts = FactsOf(prepared, options);
  UserReportLimits refused_starts;
  ReportLimit refused_calls;
  CallResources resources;
  const SharedParts shared{captures, resources, launcher, policy, audit, facts, refused_starts, refused_calls};
  PP_ASSIGN_OR_RETURN(const auto listener, ListenLocally(prepared, std::move(door), options, shared));
  PP_ASSIGN_OR_RETURN(const auto remote, ListenRemotely(prepared, callers, shared));
  PP_ASSIGN_OR_RETURN(const auto scrapes, AnswerScrapers(std::move(prepared.metrics), metrics, captures, policy));
  Log(LogLevel::kInfo, "listening",
      {{"socket", prepared.address}, {"spool", options.spool}, {"user", std::to_string(::getuid())}});
  notice.Ready("Listening on " + prepared.address);
  const int signal = AwaitEnd(
      termination, shared, [&] { Reread(policy, prepared.tls); }, notice);
  termination.LetNextOneKill();
  std::vector<UnixListener*> listeners = {listener.get()};
  if (remote != nullptr) {
    listeners.push_back(remote.get());
  }
  Drain(captures, listeners, notice, options.drain);
  return signal != 0 ? Result<void>() : LauncherEnded();
}

// Reaps the launcher, which ends when its socket is closed, and collectors that outlived it.
void ReapChildren() {
  const Nanos deadline = MonotonicNow() + kReapPatience;
  pid_t reaped = 0;
  while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) >= 0 && MonotonicNow() < deadline) {
    if (reaped == 0) {
      ::poll(nullptr, 0, kReapPauseMs);
    }
  }
}

int DaemonMain(const DaemonOptions& options) {
  ::mallopt(M_ARENA_MAX, 2);  // threads come and go with each connection: with an arena each, memory grew for hours
  Termination termination;
  StartLog();
  ServiceNotice notice;
  if (notice.trouble().has_value()) {
    Log(LogLevel::kWarning, "not_reporting", *notice.trouble());
  }
  RedirectLibraryLogs([](std::string_view library, std::string_view message) {
    Log(LogLevel::kWarning, "library_said", {{"library", std::string(library)}, {"message", std::string(message)}});
  });
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // adopts collectors whose launcher died
  const auto has_descriptors = RaiseDescriptorLimit();
  auto prepared = has_descriptors.has_error() ? Result<Prepared>(has_descriptors.error()) : Prepare(options);
  auto outcome = prepared.has_error() ? Result<void>(std::move(prepared).error())
                                      : Serve(std::move(prepared).value(), options, termination, notice);
  ReapChildren();
  if (outcome.has_error()) {
    Log(LogLevel::kError, "failed", outcome.error());
    return kFailedStatus;
  }
  Log(LogLevel::kInfo, "ended");
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  OccupyStandardDescriptors();
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) {
    fmt::print(stderr, "ptrace-profd: it must not be a set-user-ID or set-group-ID program\n  chmod ug-s the file\n");
    return kFailedStatus;
  }
  if (argc >= 2 && std::string_view(argv[1]) == kCollectorArgument) {
    return CollectorMain(argc, argv);
  }
  ForgetLibraryVariables();
  const ParsedOptions parsed = ParseDaemonOptions(argc, argv);
  return parsed.exit_status.has_value() ? *parsed.exit_status : DaemonMain(parsed.options);
}
