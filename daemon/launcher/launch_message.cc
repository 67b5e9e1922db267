#include "daemon/launcher/launch_message.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ptrace_prof {
namespace {

bool IsKeyCharacter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

bool IsValueCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ',' || c == '+' || c == '-' || c == '=';
}

bool IsArgument(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return false;
  }
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  return std::all_of(key.begin(), key.end(), IsKeyCharacter) &&
         std::all_of(value.begin(), value.end(), IsValueCharacter);
}

Error BadMessage(std::string_view what) {
  return Error{Code::kInvalidArgument, "a message to the launcher " + std::string(what), ""};
}

void Put(std::vector<std::byte>& out, const void* bytes, size_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  out.insert(out.end(), first, first + size);
}

// Splits `text` into its zero-terminated strings.
Result<std::vector<std::string>> SplitArguments(std::string_view text, size_t count) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    if (end == std::string_view::npos || arguments.size() == count || !IsArgument(text.substr(0, end))) {
      return BadMessage("has an argument that is not key=value");
    }
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (arguments.size() != count) {
    return BadMessage("has fewer arguments than it declares");
  }
  return arguments;
}

}  // namespace

Result<std::vector<std::byte>> EncodeLaunch(const LaunchRequest& request) {
  if (request.arguments.size() > kMaxLaunchArguments) {
    return Error{Code::kResourceExhausted, "a capture has too many arguments", ""};
  }
  LaunchHeader header{.number = request.number, .peer = request.peer, .pid = request.target.value};
  header.arguments = static_cast<uint32_t>(request.arguments.size());
  std::vector<std::byte> packet;
  Put(packet, &header, sizeof header);
  for (const std::string& argument : request.arguments) {
    if (!IsArgument(argument)) {
      return Error{Code::kInvalidArgument, "a capture's argument is not key=value", ""};
    }
    Put(packet, argument.c_str(), argument.size() + 1);
  }
  if (packet.size() > kMaxLaunchMessage) {
    return Error{Code::kResourceExhausted, "the request for a capture is longer than 120 KiB",
                 "name fewer threads, or none to record all of them"};
  }
  return packet;
}

Result<LaunchHeader> DecodeLaunchHeader(std::span<const std::byte> packet) {
  LaunchHeader header;
  if (packet.size() < sizeof header || packet.size() > kMaxLaunchMessage) {
    return BadMessage("is too short or too long");
  }
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.kind < LaunchKind::kStart || header.kind > LaunchKind::kSealed) {
    return BadMessage("is of an unknown kind");
  }
  return header;
}

Result<LaunchRequest> DecodeLaunch(std::span<const std::byte> packet) {
  PP_ASSIGN_OR_RETURN(const LaunchHeader header, DecodeLaunchHeader(packet));
  packet = packet.subspan(sizeof header);
  if (header.kind != LaunchKind::kStart || header.pid < 0 || header.arguments > kMaxLaunchArguments) {
    return BadMessage("is not a request, or exceeds a limit");
  }
  LaunchRequest request{.number = header.number, .peer = header.peer, .target = Pid(header.pid), .arguments = {}};
  PP_ASSIGN_OR_RETURN(request.arguments,
                      SplitArguments({reinterpret_cast<const char*>(packet.data()), packet.size()}, header.arguments));
  return request;
}

std::vector<std::byte> EncodePeer(const PeerMessage& message, LaunchKind kind) {
  const CallerIdentity& who = message.peer.who;
  LaunchHeader header{.kind = kind, .peer = message.number, .pid = message.peer.pid.value};
  header.status = (kind == LaunchKind::kVouch ? message.is_express : message.peer.is_administrator) ? 1 : 0;
  header.verdict = message.peer.verdict;
  header.uid = who.uid.value;
  header.gid = who.gid.value;
  header.groups = static_cast<uint32_t>(who.groups.size());
  std::vector<std::byte> packet;
  Put(packet, &header, sizeof header);
  Put(packet, who.groups.data(), who.groups.size() * sizeof(Gid));
  return packet;
}

Result<PeerMessage> DecodePeer(std::span<const std::byte> packet, LaunchKind kind) {
  PP_ASSIGN_OR_RETURN(const LaunchHeader header, DecodeLaunchHeader(packet));
  packet = packet.subspan(sizeof header);
  if (header.kind != kind || header.verdict > PeerVerdict::kTooMany || header.groups > kMaxLaunchGroups ||
      packet.size() != header.groups * sizeof(Gid)) {
    return BadMessage("describes no peer, or exceeds a limit");
  }
  PeerMessage message{header.peer, {header.verdict, {Uid(header.uid), Gid(header.gid), {}}, Pid(header.pid)}};
  (kind == LaunchKind::kVouch ? message.is_express : message.peer.is_administrator) = header.status == 1;
  message.peer.who.groups.resize(header.groups);
  if (header.groups > 0) {
    std::memcpy(message.peer.who.groups.data(), packet.data(), packet.size());
  }
  return message;
}

// The texts contain no zero; each is followed by one.
std::vector<std::byte> EncodeLooked(uint64_t number, const TargetLook& look) {
  LaunchHeader header{.kind = LaunchKind::kLooked, .number = number, .status = look.refused};
  header.uid = look.owner.value;
  std::vector<std::byte> packet;
  Put(packet, &header, sizeof header);
  for (const std::string* text : {&look.command, &look.program, &look.cgroup}) {
    Put(packet, text->c_str(), text->size() + 1);
  }
  return packet;
}

Result<TargetLook> DecodeLooked(std::span<const std::byte> packet) {
  PP_ASSIGN_OR_RETURN(const LaunchHeader header, DecodeLaunchHeader(packet));
  TargetLook look{.refused = header.status, .owner = Uid(header.uid), .command = {}, .program = {}, .cgroup = {}};
  std::string_view text(reinterpret_cast<const char*>(packet.data()) + sizeof header, packet.size() - sizeof header);
  for (std::string* field : {&look.command, &look.program, &look.cgroup}) {
    const size_t end = text.find('\0');
    if (header.kind != LaunchKind::kLooked || end == std::string_view::npos) {
      return BadMessage("describes no process");
    }
    *field = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  return text.empty() ? Result<TargetLook>(std::move(look)) : BadMessage("has data after its end");
}

}  // namespace ptrace_prof
