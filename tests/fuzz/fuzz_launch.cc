// Decodes arbitrary packets as requests of the daemon to its launcher, and as the launcher's answers and arrivals. What
// is accepted is within bounds, holds nothing but key=value, and survives encoding. fuzz_launcher covers what both ends
// do with such packets.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "daemon/launcher/launch_message.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void RunPeer(std::span<const std::byte> packet, LaunchKind kind) {
  if (const auto decoded = DecodePeer(packet, kind); decoded.has_value()) {
    Require(decoded.value().peer.who.groups.size() <= kMaxLaunchGroups && decoded.value().peer.who.capabilities == 0);
    Require(EncodePeer(decoded.value(), kind).size() == packet.size());
  }
}

void RunLooked(std::span<const std::byte> packet) {
  const auto header = DecodeLaunchHeader(packet);
  if (header.has_error()) {
    return;
  }
  if (const auto decoded = DecodeLooked(packet); decoded.has_value()) {
    Require(EncodeLooked(header.value().number, decoded.value()).size() == packet.size());
  }
}

void Run(std::span<const std::byte> packet) {
  RunPeer(packet, LaunchKind::kPeer);
  RunPeer(packet, LaunchKind::kVouch);
  RunLooked(packet);
  const auto decoded = DecodeLaunch(packet);
  if (decoded.has_error()) {
    Require(decoded.error().code == Code::kInvalidArgument);
    return;
  }
  const LaunchRequest& request = decoded.value();
  Require(request.arguments.size() <= kMaxLaunchArguments && request.target.value >= 0);
  for (const std::string& argument : request.arguments) {
    Require(argument[0] != '-' && argument.find('=') != std::string::npos && argument.find('/') == std::string::npos);
  }
  const auto again = EncodeLaunch(request);
  Require(again.has_value() && again.value().size() == packet.size());
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
