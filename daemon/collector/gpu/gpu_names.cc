#include "daemon/collector/gpu/gpu_names.h"

#include <algorithm>
#include <cstring>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kGone = "[name that is gone]";
constexpr std::string_view kTooManyNames = "[too many names]";
constexpr size_t kMaxGpuName = 16 * 1024;
constexpr size_t kMaxGpuNames = size_t{1} << 18;
constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr uint64_t kPage = 4096;

}  // namespace

// Reads pieces that end at a page boundary, as the page after a name may not be mapped.
std::string GpuNames::ReadText(RemoteAddr address) {
  std::string text;
  while (text.size() < kMaxGpuName) {
    std::array<char, 256> piece{};
    const size_t size = std::min<size_t>(piece.size(), kPage - address.value % kPage);
    if (memory_.Read(address, piece.data(), size) != ReadStatus::kOk) {
      break;
    }
    const size_t length = ::strnlen(piece.data(), size);
    text.append(piece.data(), length);
    if (length < size) {
      return CleanText(text);
    }
    address = address + size;
  }
  return text.empty() ? std::string(kGone) : CleanText(text);
}

bool GpuNames::ReadBeginning(RemoteAddr address, std::array<char, kBeginning>& beginning) {
  const size_t size = std::min<size_t>(beginning.size(), kPage - address.value % kPage);
  if (memory_.Read(address, beginning.data(), size) != ReadStatus::kOk) {
    return false;
  }
  std::fill(beginning.begin() + static_cast<ptrdiff_t>(::strnlen(beginning.data(), size)), beginning.end(), '\0');
  return true;
}

std::string_view GpuNames::Keep(std::string_view text) {
  std::string copy(text);
  if (const auto known = texts_.find(copy); known != texts_.end()) {
    return *known;
  }
  if (texts_.size() >= kMaxGpuNames || bytes_ + copy.size() > kMaxBytes) {
    return kTooManyNames;
  }
  bytes_ += copy.size();
  return *texts_.insert(std::move(copy)).first;
}

std::string_view GpuNames::Of(RemoteAddr address) {
  if (address.IsNull()) {
    return kGone;
  }
  if (last_ != nullptr && last_address_ == address.value && last_->round == round_) {
    return last_->text;
  }
  auto found = names_.find(address.value);
  if (found == names_.end()) {
    if (names_.size() >= kMaxGpuNames) {
      return kTooManyNames;
    }
    found = names_.try_emplace(address.value).first;
  }
  Name& name = found->second;
  if (name.round != round_) {
    std::array<char, kBeginning> now{};
    const bool is_there = ReadBeginning(address, now);
    if (name.round == 0 || (is_there && now != name.beginning)) {
      name.text = Keep(is_there ? ReadText(address) : std::string(kGone));
      name.beginning = now;
    }
    name.round = round_;
  }
  last_address_ = address.value;
  last_ = &name;
  return name.text;
}

}  // namespace ptrace_prof
