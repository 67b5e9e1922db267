#include "daemon/server/program/daemon_options.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "daemon/server/manual/empty_values.h"
#include "daemon/server/manual/manual_page.h"
#include "rpc/unix/default_socket.h"

namespace ptrace_prof {
namespace {

constexpr int kUsageStatus = 2;
// Used by the build, which installs the manual page; --help does not mention it.
constexpr std::string_view kManualWord = "--help-man";
constexpr uint64_t kMostBytes = uint64_t{1} << 60;
constexpr uint64_t kKeptBytes = uint64_t{32} << 30;
constexpr double kMaxDrainSeconds = 3600;
constexpr double kMaxDurationSeconds = 366.0 * 24 * 3600;

constexpr char kFooter[] =
    "ptrace-profd listens on a Unix socket that only its owner and root can connect to. With --multi-user, every\n"
    "user of this machine can connect, and may profile what the kernel allows that user to read. Started by root,\n"
    "it keeps only a small launcher with root's rights. SIGTERM or SIGINT ends it: captures end, and their readers\n"
    "get the rest within --drain-seconds; a second signal ends it at once.\n"
    "A service manager may pass the socket (LISTEN_FDS), and gets reports of start and end (NOTIFY_SOCKET).\n";

std::string Variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

int Fail(const Error& error) {
  fmt::print(stderr, "ptrace-profd: {}{}{}\n", error.message, error.remedy.empty() ? "" : "\n  ", error.remedy);
  return kUsageStatus;
}

struct RawOptions {
  double max_duration_s = 0;
  double drain_s = 15;
  double keep_for_s = 7.0 * 24 * 3600;
};

void DeclareTcp(CLI::App& app, DaemonOptions& options) {
  app.add_option("--listen-tcp", options.tcp,
                 "Also serve clients with a certificate over TCP: 10.0.0.5:7443, 0.0.0.0:7443 (default: no TCP). "
                 "[[identity]] in the policy maps certificates to users; the next three options are needed")
      ->type_name("HOST:PORT");
  app.add_option("--tls-cert", options.tls.certificate, "Certificate of this machine, with its chain (PEM)")
      ->type_name("FILE");
  app.add_option("--tls-key", options.tls.key, "Its private key (PEM), which other users must not be able to read")
      ->type_name("FILE");
  app.add_option("--tls-client-ca", options.tls.authority,
                 "Certificates of the authorities that sign client certificates (PEM)")
      ->type_name("FILE");
  app.add_option(
         "--tls-crl", options.tls.revoked,
         "Certificate revocation lists (PEM), one of each of these authorities; SIGHUP reloads them (default: none)")
      ->type_name("FILE");
}

void Declare(CLI::App& app, DaemonOptions& options, RawOptions& raw) {
  static const std::map<std::string, double> kTimeUnits = {
      {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  app.set_version_flag("--version", fmt::format("ptrace-profd {}", PP_VERSION), "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.footer(kFooter);
  app.add_option("--socket", options.socket,
                 "Where to listen (default: /run/ptrace-prof/ptrace-prof.sock for root, else in $XDG_RUNTIME_DIR)")
      ->type_name("PATH");
  app.add_flag("--multi-user", options.multi_user,
               "Serve every user of this machine, each with that user's own rights (needs root)");
  app.add_option("--spool", options.spool,
                 "Folder for the captures and their traces, used by one ptrace-profd at a time (default: in $TMPDIR or "
                 "/var/tmp)")
      ->type_name("FOLDER");
  app.add_option("--audit", options.audit,
                 "File for the audit: a line of JSON for each allowed or refused request (default: none)")
      ->type_name("FILE");
  app.add_option("--metrics", options.metrics,
                 "Serve metrics for Prometheus at /metrics: 127.0.0.1:9465, [::1]:9465 or unix:PATH (default: none)")
      ->type_name("ADDRESS");
  app.add_flag("--metrics-remote", options.metrics_remote,
               "Allow a --metrics address that other machines can reach: it has no authentication");
  DeclareTcp(app, options);
  app.add_option("--policy", options.policy,
                 "File with rules about who may profile what, and quotas; SIGHUP reloads it (default: "
                 "/etc/ptrace-prof/policy.toml for root, if it exists)")
      ->type_name("FILE");
  app.add_option("--max-captures", options.limits.captures_per_user, "Most captures that a user may run at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--max-bytes", options.limits.bytes, "Largest trace, in bytes or with a unit: 500MB, 8GB")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->default_str("8GB");
  app.add_option("--max-duration", raw.max_duration_s, "Longest capture, in seconds or with a unit: 90s, 30m, 2h")
      ->transform(CLI::AsNumberWithUnit(kTimeUnits, CLI::AsNumberWithUnit::CASE_SENSITIVE))
      ->check(CLI::Range(0.0, kMaxDurationSeconds))
      ->type_name("TIME")
      ->default_str("no limit");
  app.add_option("--keep-for", raw.keep_for_s,
                 "Longest time for which an ended capture and its trace are kept, in seconds or with a unit: 12h, 30d")
      ->transform(CLI::AsNumberWithUnit(kTimeUnits, CLI::AsNumberWithUnit::CASE_SENSITIVE))
      ->check(CLI::Range(0.0, kMaxDurationSeconds))
      ->type_name("TIME")
      ->default_str("7d");
  app.add_option("--keep-bytes", options.limits.kept_bytes,
                 "Largest size of all traces of ended captures together, in bytes or with a unit; the oldest of the "
                 "user with the most bytes are deleted first")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->default_str("32GB");
  app.add_option("--drain-seconds", raw.drain_s,
                 "At SIGTERM: longest time for ending captures and sending the rest to their readers")
      ->check(CLI::Range(0.0, kMaxDrainSeconds))
      ->type_name("SECONDS")
      ->capture_default_str();
}

// TCP needs certificates: either all of these options are given, or none.
Result<void> CheckTcp(const DaemonOptions& options) {
  const TlsFiles& tls = options.tls;
  const bool has_all = !tls.certificate.empty() && !tls.key.empty() && !tls.authority.empty();
  const bool has_any = !tls.certificate.empty() || !tls.key.empty() || !tls.authority.empty() || !tls.revoked.empty();
  if (!options.tcp.empty() && !has_all) {
    return Error{Code::kInvalidArgument, "--listen-tcp serves clients with a certificate, and needs the files for that",
                 "add --tls-cert, --tls-key and --tls-client-ca"};
  }
  if (options.tcp.empty() && has_any) {
    return Error{Code::kInvalidArgument, "--tls-cert, --tls-key, --tls-client-ca and --tls-crl need --listen-tcp",
                 "add --listen-tcp HOST:PORT, or leave them out"};
  }
  return {};
}

Result<void> Complete(DaemonOptions& options) {
  const Uid user(::getuid());
  if (options.multi_user && ::geteuid() != 0) {
    return Error{Code::kPermissionDenied, "--multi-user needs root: only root can start collectors as other users",
                 "run it with sudo; only a small launcher keeps root's rights"};
  }
  PP_RETURN_IF_ERROR(CheckTcp(options));
  if (options.socket.empty()) {
    PP_ASSIGN_OR_RETURN(options.socket, DefaultSocketPath(user));
  }
  if (options.spool.empty()) {
    options.spool = DefaultSpoolFolder(user);
  }
  if (options.limits.bytes == 0 || options.limits.bytes > kMostBytes) {  // a negative value wraps to a very large one
    return Error{Code::kInvalidArgument, "--max-bytes is out of range", "give it a size from 1 to 1EB, such as 500MB"};
  }
  if (options.limits.kept_bytes > kMostBytes) {
    return Error{Code::kInvalidArgument, "--keep-bytes is out of range",
                 "give it a size up to 1EB, such as 20GB; 0: no limit"};
  }
  return {};
}

}  // namespace

Result<std::string> DefaultSocketPath(Uid user) {
  std::string socket = DefaultSocket(user);
  if (socket.empty()) {
    return Error{Code::kFailedPrecondition, "there is no folder for the socket: XDG_RUNTIME_DIR is not set",
                 "give --socket PATH, in a folder that only you may write to"};
  }
  return socket;
}

std::string DefaultSpoolFolder(Uid user) {
  const std::string temporary = Variable("TMPDIR");
  return fmt::format("{}/ptrace-prof-spool-{}", temporary.empty() ? "/var/tmp" : temporary, user.value);
}

ParsedOptions ParseDaemonOptions(int argc, char** argv) {
  ParsedOptions parsed;
  parsed.options.limits.kept_bytes = kKeptBytes;
  RawOptions raw;
  CLI::App app("Serves captures of Python processes over gRPC.", "ptrace-profd");
  Declare(app, parsed.options, raw);
  RefuseEmptyValues(app);
  if (argc == 2 && std::string_view(argv[1]) == kManualWord) {
    fmt::print(
        "{}",
        ManualPage(app, {.section = 8,
                         .version = PP_VERSION,
                         .synopsis = {"[OPTIONS]"},
                         .files = {{"/etc/ptrace-prof/policy.toml", "Who may profile what: ptrace-prof-policy(5)."},
                                   {"/run/ptrace-prof/ptrace-prof.sock", "The socket of root's daemon."},
                                   {"/var/log/ptrace-prof/audit.log",
                                    "Where `ptrace-prof audit` looks unless a daemon says otherwise."}},
                         .see_also = "ptrace-prof(1), ptrace-prof-policy(5), systemd.socket(5)"}));
    parsed.exit_status = std::fflush(stdout) == 0 ? 0 : kUsageStatus;
    return parsed;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    parsed.exit_status = app.exit(asked);
    if (!std::cout.flush()) {
      parsed.exit_status = Fail(ErrnoError(errno, "cannot write to standard output"));
    }
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_status = Fail({Code::kInvalidArgument, error.what(), "see `ptrace-profd --help`"});
    return parsed;
  }
  parsed.options.limits.duration = Nanos::FromSeconds(raw.max_duration_s);
  parsed.options.limits.kept_for = Nanos::FromSeconds(raw.keep_for_s);
  parsed.options.drain = Nanos::FromSeconds(raw.drain_s);
  if (const auto complete = Complete(parsed.options); complete.has_error()) {
    parsed.exit_status = Fail(complete.error());
  }
  return parsed;
}

}  // namespace ptrace_prof
