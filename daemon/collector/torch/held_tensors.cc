#include "daemon/collector/torch/held_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "attach/base/clean_text.h"
#include "daemon/collector/torch/torch_tensors.h"
#include "symbolizer/cpython/named_items.h"
#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostModules = 20000;
constexpr size_t kMaxTensors = 20000;
constexpr size_t kMostItems = 4096;  // of a dict or a list
constexpr size_t kMostNameBytes = 256;
constexpr size_t kMostPlace = 1024;  // characters of a name with all its holders
constexpr size_t kLearnFrom = 64;    // tensors

struct Candidate {
  TensorRole role = TensorRole::kParameter;
  std::string name;
  std::string owner;
};

class Lister {
 public:
  Lister(RemoteMemory& memory, const Layout& layout, TorchClasses& classes, const HeldTensorsRequest& request)
      : classes_(classes),
        request_(request),
        reader_(memory, layout),
        tensors_(memory, layout, request.has_old_strings) {}

  std::vector<HeldTensor> List() {
    for (const RemoteAddr module : request_.objects.modules) {
      WalkModules(module);
    }
    for (const RemoteAddr optimizer : request_.objects.optimizers) {
      WalkGroups(optimizer);
    }
    for (const RemoteAddr optimizer : request_.objects.optimizers) {
      WalkState(optimizer);
    }
    std::vector<RemoteAddr> some(order_.begin(), order_.begin() + std::min(order_.size(), kLearnFrom));
    if (some.empty() || !tensors_.Learn(some)) {
      return {};
    }
    for (const RemoteAddr object : order_) {
      Take(object);
    }
    return std::move(found_);
  }

 private:
  bool IsLate() const { return MonotonicNow() >= request_.deadline; }

  // A tensor that several modules share has its first name, as with named_parameters(). But a module may be met before
  // its holder: then the holder's name for it counts.
  void Add(RemoteAddr object, TensorRole role, std::string name, const std::string& owner) {
    if (order_.size() >= kMaxTensors || classes_.KindOf(object) != TorchKind::kTensor) {
      return;
    }
    const auto [known, is_new] = candidates_.try_emplace(object, Candidate{role, name, owner});
    if (is_new) {
      order_.push_back(object);
    } else if (known->second.role == role && name.ends_with("." + known->second.name)) {
      known->second = {role, std::move(name), owner};
    }
  }

  void WalkModules(RemoteAddr root) {
    const std::string owner = reader_.ReadTypeName(root).value_or("?");
    std::vector<std::pair<RemoteAddr, std::string>> open = {{root, ""}};
    std::unordered_set<RemoteAddr> seen;
    while (!open.empty() && modules_ < kMostModules && !IsLate()) {
      const RemoteAddr module = open.back().first;
      const std::string prefix = std::move(open.back().second);
      open.pop_back();
      if (!seen.insert(module).second) {
        continue;
      }
      ++modules_;
      for (const auto& kind :
           {std::pair("_parameters", TensorRole::kParameter), std::pair("_buffers", TensorRole::kBuffer)}) {
        VisitNamed(module, kind.first,
                   [&](const std::string& name, RemoteAddr value) { Add(value, kind.second, prefix + name, owner); });
      }
      const size_t first_child = open.size();
      VisitNamed(module, "_modules", [&](const std::string& name, RemoteAddr value) {
        if (prefix.size() + name.size() < kMostPlace && open.size() < kMostModules &&
            classes_.KindOf(value) == TorchKind::kModule) {
          open.emplace_back(value, prefix + name + ".");
        }
      });
      std::reverse(open.begin() + static_cast<ptrdiff_t>(first_child), open.end());  // the first one comes next
    }
  }

  // The items of a dict that is an attribute.
  template <typename Visit>
  void VisitNamed(RemoteAddr object, std::string_view attribute, const Visit& visit) {
    if (const auto dict = FindAttribute(reader_, object, attribute)) {
      VisitTexts(*dict, visit);
    }
  }
  template <typename Visit>
  void VisitTexts(RemoteAddr dict, const Visit& visit) {
    reader_.VisitDict(dict, kMostItems, [&](RemoteAddr key, RemoteAddr value) {
      visit(CleanText(reader_.ReadString(key, kMostNameBytes).value_or("?")), value);
      return true;
    });
  }

  void WalkGroups(RemoteAddr optimizer) {
    const std::string owner = reader_.ReadTypeName(optimizer).value_or("?");
    const auto groups = FindAttribute(reader_, optimizer, "param_groups");
    const auto list = groups ? reader_.ReadList(*groups, kMostItems) : std::nullopt;
    for (size_t i = 0; list && i < list->size(); ++i) {
      const auto parameters = FindItem(reader_, (*list)[i], "params", kMostItems);
      const auto items = parameters ? reader_.ReadList(*parameters, kMaxTensors) : std::nullopt;
      for (size_t j = 0; items && j < items->size(); ++j) {
        if (!candidates_.contains((*items)[j])) {  // no module was found that has it
          Add((*items)[j], TensorRole::kParameter, fmt::format("param_groups[{}][{}]", i, j), owner);
        }
      }
    }
  }

  void WalkState(RemoteAddr optimizer) {
    const std::string owner = reader_.ReadTypeName(optimizer).value_or("?");
    const auto state = FindAttribute(reader_, optimizer, "state");
    if (!state) {
      return;
    }
    reader_.VisitDict(*state, kMaxTensors, [&](RemoteAddr parameter, RemoteAddr values) {
      const auto known = candidates_.find(parameter);
      const std::string name = known != candidates_.end() ? known->second.name : "?";
      if (classes_.KindOf(values) == TorchKind::kDict) {
        VisitTexts(values, [&](const std::string& key, RemoteAddr value) {
          Add(value, TensorRole::kOptimizerState, name + " " + key, owner);
        });
      }
      return !IsLate();
    });
  }

  void Take(RemoteAddr object) {
    const Candidate& candidate = candidates_.at(object);
    const std::optional<TensorView> view = tensors_.Read(object);
    if (!view) {
      return;
    }
    Put(candidate.role, candidate, *view);
    if (candidate.role == TensorRole::kParameter) {
      if (const std::optional<TensorView> gradient = tensors_.ReadGradient(*view)) {
        Put(TensorRole::kGradient, candidate, *gradient);
      }
    }
  }
  void Put(TensorRole role, const Candidate& candidate, const TensorView& view) {
    if (view.address == 0) {
      return;
    }
    found_.push_back({.pid = request_.pid,
                      .when = MonotonicNow(),
                      .role = role,
                      .name = candidate.name,
                      .owner = candidate.owner,
                      .type = TensorTypeName(view.type),
                      .sizes = fmt::format("[{}]", fmt::join(view.sizes, ", ")),
                      .device = view.device,
                      .address = view.address,
                      .bytes = view.bytes});
  }

  TorchClasses& classes_;
  const HeldTensorsRequest& request_;
  ObjectReader reader_;
  TensorReader tensors_;
  std::unordered_map<RemoteAddr, Candidate> candidates_;
  std::vector<RemoteAddr> order_;
  size_t modules_ = 0;
  std::vector<HeldTensor> found_;
};

}  // namespace

std::vector<HeldTensor> ListHeldTensors(RemoteMemory& memory, const Layout& layout, TorchClasses& classes,
                                        const HeldTensorsRequest& request) {
  return Lister(memory, layout, classes, request).List();
}

}  // namespace ptrace_prof
