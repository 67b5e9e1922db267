#include "rpc/munge/munge_credential.h"

#include <fmt/format.h>
#include <munge.h>
#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <type_traits>

#include "attach/base/clean_text.h"
#include "rpc/unix/unix_socket.h"

namespace ptrace_prof {
namespace {

constexpr char kStartIt[] =
    "start munged on this machine (systemctl start munge); if it uses another socket, name it with --munge-socket "
    "(client) or munge_socket (policy of ptrace-profd)";
constexpr char kNewOne[] = "each call needs its own credential: --munge and Tls(munge=True) get one for each call";
constexpr char kClocks[] =
    "check that the clocks of both machines agree; a credential is valid for some minutes, and for one call";
constexpr char kSameKey[] = "use machines of one cluster: munged needs the same key on both";

// The errors of libmunge that need words of their own. All others are faults of munged, of the library or of ours.
struct Meaning {
  munge_err_t error;
  Code code;
  const char* remedy;
};
constexpr Meaning kMeanings[] = {
    {EMUNGE_SOCKET, Code::kUnavailable, kStartIt},
    {EMUNGE_TIMEOUT, Code::kUnavailable, kStartIt},
    {EMUNGE_CRED_EXPIRED, Code::kUnauthenticated, kClocks},
    {EMUNGE_CRED_REWOUND, Code::kUnauthenticated, kClocks},
    {EMUNGE_CRED_REPLAYED, Code::kUnauthenticated, kNewOne},
    {EMUNGE_CRED_UNAUTHORIZED, Code::kUnauthenticated, kNewOne},
    {EMUNGE_CRED_INVALID, Code::kUnauthenticated, kSameKey},
    {EMUNGE_BAD_CRED, Code::kUnauthenticated, kNewOne},
    {EMUNGE_BAD_LENGTH, Code::kUnauthenticated, kNewOne},
    {EMUNGE_BAD_VERSION, Code::kUnauthenticated, kSameKey},
    {EMUNGE_BAD_CIPHER, Code::kUnauthenticated, kSameKey},
    {EMUNGE_BAD_MAC, Code::kUnauthenticated, kSameKey},
    {EMUNGE_BAD_ZIP, Code::kUnauthenticated, kSameKey},
    {EMUNGE_BAD_REALM, Code::kUnauthenticated, kSameKey},
};

using Context = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, void (*)(munge_ctx_t)>;
using Allocated = std::unique_ptr<void, decltype(&::free)>;

// A context for that socket; null: no memory.
Context ContextFor(const std::string& socket) {
  Context context(::munge_ctx_create(), &::munge_ctx_destroy);
  if (context != nullptr && ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS) {
    context.reset();
  }
  return context;
}

Error NoContext() { return Because(Reason::kOutOfResources, "no memory is left for libmunge", "free some memory"); }

Error NoAnswer(const std::string& socket, std::string_view why) {
  return {Code::kUnavailable, fmt::format("munged does not answer at {}: {}", socket, why), kStartIt};
}

Error ErrorOf(const Context& context, munge_err_t error, std::string_view what, const std::string& socket) {
  const char* said = ::munge_ctx_strerror(context.get());
  const std::string words = CleanText(said == nullptr ? ::munge_strerror(error) : said);
  const auto* meaning = std::ranges::find(kMeanings, error, &Meaning::error);
  if (meaning == std::end(kMeanings)) {
    return {Code::kInternal, fmt::format("{}: {}", what, words), "see the log of munged"};
  }
  return meaning->code == Code::kUnavailable
             ? NoAnswer(socket, words)
             : Error{meaning->code, fmt::format("{}: {}", what, words), meaning->remedy};
}

// Blocks SIGPIPE, so that a munged that hangs up causes an error of libmunge and not a signal.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlocked() {
    const timespec no_time{};
    if (::sigismember(&before_, SIGPIPE) == 0) {
      ::sigtimedwait(&pipe_, nullptr, &no_time);
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

Result<std::string> MakeMungeCredential(const std::string& payload, const std::string& socket) {
  const Context context = ContextFor(socket);
  if (context == nullptr) {
    return NoContext();
  }
  const SigpipeBlocked blocked;
  char* credential = nullptr;
  const munge_err_t error =
      ::munge_encode(&credential, context.get(), payload.data(), static_cast<int>(payload.size()));
  const Allocated owned(credential, &::free);
  if (error != EMUNGE_SUCCESS) {
    return ErrorOf(context, error, "munged made no credential", socket);
  }
  return std::string(credential);
}

Result<MungeWord> ReadMungeCredential(const std::string& credential, const std::string& socket) {
  const Context context = ContextFor(socket);
  if (context == nullptr) {
    return NoContext();
  }
  const SigpipeBlocked blocked;
  void* payload = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error = ::munge_decode(credential.c_str(), context.get(), &payload, &size, &uid, &gid);
  const Allocated owned(payload, &::free);  // set even for an expired credential
  if (error != EMUNGE_SUCCESS) {
    return ErrorOf(context, error, "munged refuses the credential", socket);
  }
  return MungeWord{
      Uid(uid), size > 0 ? std::string(static_cast<const char*>(payload), static_cast<size_t>(size)) : std::string()};
}

Result<void> KnockAtMunged(const std::string& socket) {
  PP_ASSIGN_OR_RETURN(const int answer, KnockAtUnixSocket(socket));
  return answer == 0 ? Result<void>() : NoAnswer(socket, std::strerror(answer));
}

}  // namespace ptrace_prof
