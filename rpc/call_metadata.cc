#include "rpc/call_metadata.h"

#include <fmt/format.h>
#include <grpcpp/security/credentials.h>

#include <map>
#include <string_view>

#include "rpc/connection/call_claims.h"
#include "rpc/connection/status.h"
#include "rpc/munge/munge_binding.h"
#include "rpc/munge/munge_credential.h"

namespace ptrace_prof {
namespace {

class MetadataPlugin : public grpc::MetadataCredentialsPlugin {
 public:
  explicit MetadataPlugin(CallMetadata what) : what_(std::move(what)) {}

  // `service` is "https://HOST/ptraceprof.v1.CaptureService".
  grpc::Status GetMetadata(grpc::string_ref service, grpc::string_ref method, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    if (!what_.user.empty()) {
      metadata->emplace(kUserMetadata, what_.user);
    }
    if (!what_.munge.has_value()) {
      return grpc::Status::OK;
    }
    const std::string_view url(service.data(), service.size());
    const std::string called =
        fmt::format("{}/{}", url.substr(url.rfind('/')), std::string_view(method.data(), method.size()));
    const auto credential = MakeMungeCredential(ToPayload({called, what_.host}), *what_.munge);
    if (credential.has_error()) {
      return ToStatus(credential.error());
    }
    metadata->emplace(kAuthorizationMetadata, ToAuthorization(credential.value()));
    return grpc::Status::OK;
  }
  bool IsBlocking() const override { return what_.munge.has_value(); }

 private:
  const CallMetadata what_;
};

}  // namespace

std::shared_ptr<grpc::CallCredentials> CallCredentialsFor(CallMetadata metadata) {
  return grpc::MetadataCredentialsFromPlugin(std::make_unique<MetadataPlugin>(std::move(metadata)));
}

}  // namespace ptrace_prof
