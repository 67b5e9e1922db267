#include "rpc/munge/munge_binding.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr std::string_view kTitle = "ptrace-prof call 1\n";  // the number changes with the format of what follows
constexpr std::string_view kScheme = "munge ";
constexpr std::string_view kBegin = "MUNGE:";
constexpr char kEnd = ':';
constexpr size_t kLongestField = 255;
constexpr size_t kLongestCredential = 4096;  // ours have some 300 bytes

bool IsField(std::string_view text) {
  return !text.empty() && text.size() <= kLongestField &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool IsBase64(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=';
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

}  // namespace

std::string ToPayload(const MungeBinding& binding) {
  return fmt::format("{}{}\n{}\n", kTitle, binding.method, binding.host);
}

std::optional<MungeBinding> FromPayload(std::string_view payload) {
  if (!payload.starts_with(kTitle) || !payload.ends_with('\n')) {
    return std::nullopt;
  }
  payload.remove_prefix(kTitle.size());
  const size_t method_end = payload.find('\n');
  if (method_end == std::string_view::npos || method_end + 1 >= payload.size()) {
    return std::nullopt;
  }
  const std::string_view method = payload.substr(0, method_end);
  const std::string_view host = payload.substr(method_end + 1, payload.size() - method_end - 2);
  if (!IsField(method) || !IsField(host)) {
    return std::nullopt;
  }
  return MungeBinding{std::string(method), std::string(host)};
}

std::string ToAuthorization(std::string_view credential) { return fmt::format("{}{}", kScheme, credential); }

std::optional<std::string> CredentialIn(std::string_view authorization) {
  if (!EqualsIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  const std::string_view credential = authorization.substr(kScheme.size());
  if (credential.size() > kLongestCredential || credential.size() <= kBegin.size() + 1 ||
      !credential.starts_with(kBegin) || !credential.ends_with(kEnd) ||
      !std::ranges::all_of(credential.substr(kBegin.size(), credential.size() - kBegin.size() - 1), IsBase64)) {
    return std::nullopt;
  }
  return std::string(credential);
}

}  // namespace ptrace_prof
