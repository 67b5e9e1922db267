#include "rpc/connection/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/impl/server_initializer.h>

#include <set>
#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace ptrace_prof {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::ServerReflection;
using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

// Adds the file's imports, then the file, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added, Response& response) {
  if (!added.insert(&file).second) {
    return;
  }
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFile(*file.dependency(i), added, response);
  }
  google::protobuf::FileDescriptorProto copy;
  file.CopyTo(&copy);
  copy.SerializeToString(response.mutable_file_descriptor_response()->add_file_descriptor_proto());
}

void SayError(grpc::StatusCode code, const std::string& message, Response& response) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(message);
}

void SayFile(const FileDescriptor* file, Response& response) {
  if (file == nullptr) {
    SayError(grpc::StatusCode::NOT_FOUND, "there is no such file or symbol", response);
    return;
  }
  std::set<const FileDescriptor*> added;
  AddFile(*file, added, response);
}

void Answer(const Request& request, const std::vector<std::string>& services, Response& response) {
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case Request::kFileByFilename: return SayFile(pool.FindFileByName(request.file_by_filename()), response);
    case Request::kFileContainingSymbol:
      return SayFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
    case Request::kListServices:
      for (const std::string& service : services) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      return;
    case Request::MESSAGE_REQUEST_NOT_SET: break;
  }
  SayError(grpc::StatusCode::UNIMPLEMENTED, "this server answers for files, symbols and services only", response);
}

// Alternates between reading a request and answering it, until the client has no more.
class Conversation : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit Conversation(const std::vector<std::string>& services) : services_(services) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    response_.Clear();
    Answer(request_, services_, response_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  const std::vector<std::string>& services_;
  Request request_;
  Response response_;
};

class Reflection : public ServerReflection::CallbackService {
 public:
  grpc::ServerBidiReactor<Request, Response>* ServerReflectionInfo(grpc::CallbackServerContext*) override {
    return new Conversation(services_);
  }
  void set_services(const std::vector<std::string>& services) { services_ = services; }

 private:
  std::vector<std::string> services_;
};

// Adds the service, and collects the names of all services once they are complete.
class Plugin : public grpc::ServerBuilderPlugin {
 public:
  std::string name() override { return "ptrace_prof_reflection"; }
  void InitServer(grpc::ServerInitializer* server) override { server->RegisterService(reflection_); }
  void Finish(grpc::ServerInitializer* server) override { reflection_->set_services(*server->GetServiceList()); }
  void ChangeArguments(const std::string&, void*) override {}
  bool has_sync_methods() const override { return false; }
  bool has_async_methods() const override { return false; }

 private:
  const std::shared_ptr<Reflection> reflection_ = std::make_shared<Reflection>();
};

class Option : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->push_back(std::make_unique<Plugin>());
  }
};

}  // namespace

std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption() { return std::make_unique<Option>(); }

}  // namespace ptrace_prof
