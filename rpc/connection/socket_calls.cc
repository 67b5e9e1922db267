#include "rpc/connection/socket_calls.h"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>

namespace ptrace_prof {
namespace {

using Json = std::unique_ptr<char, void (*)(char*)>;

bool Parse(char* text, rapidjson::Document& document) {
  const Json owned(text, [](char* json) { ::gpr_free(json); });
  return text != nullptr && !document.Parse(text).HasParseError() && document.IsObject();
}

// Returns false if no socket has that number.
bool Read(SocketId id, rapidjson::Document& document) {
  return Parse(::grpc_channelz_get_socket(static_cast<intptr_t>(id.value)), document) && document.HasMember("socket") &&
         document["socket"].IsObject();
}

const rapidjson::Value* Member(const rapidjson::Value* object, const char* key) {
  if (object == nullptr || !object->IsObject()) {
    return nullptr;
  }
  const auto at = object->FindMember(key);
  return at == object->MemberEnd() ? nullptr : &at->value;
}

// Channelz writes numbers as text, and leaves out those that are zero.
uint64_t Number(const rapidjson::Value* object, const char* key) {
  const rapidjson::Value* value = Member(object, key);
  uint64_t number = 0;
  if (value != nullptr && value->IsString()) {
    std::from_chars(value->GetString(), value->GetString() + value->GetStringLength(), number);
  }
  return number;
}

}  // namespace

// gRPC numbers its objects in order: a server has the next number, then its connection.
SocketId FindSocket(int fd) {
  static int64_t newest_server = 0;
  rapidjson::Document servers;
  if (!Parse(::grpc_channelz_get_servers(static_cast<intptr_t>(newest_server + 1)), servers) ||
      !servers.HasMember("server") || !servers["server"].IsArray()) {
    return {};
  }
  for (const auto& server : servers["server"].GetArray()) {
    newest_server = std::max(newest_server, static_cast<int64_t>(Number(Member(&server, "ref"), "serverId")));
  }
  const SocketId next(newest_server + 1);
  rapidjson::Document socket;
  if (!Read(next, socket)) {
    return {};
  }
  const auto* name = Member(Member(Member(&socket["socket"], "remote"), "other_address"), "name");
  return name != nullptr && name->IsString() && name->GetString() == fmt::format("fd:{}", fd) ? next : SocketId();
}

uint64_t CountOpenCalls(SocketId socket) {
  rapidjson::Document document;
  if (socket == SocketId() || !Read(socket, document)) {
    return 0;
  }
  const auto* data = Member(&document["socket"], "data");
  const uint64_t ended = Number(data, "streamsSucceeded") + Number(data, "streamsFailed");
  const uint64_t begun = Number(data, "streamsStarted");
  return begun > ended ? begun - ended : 0;
}

}  // namespace ptrace_prof
