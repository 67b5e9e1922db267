#include "daemon/collector/torch/torch_objects.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "symbolizer/cpython/frame_values.h"
#include "symbolizer/cpython/named_items.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kMaxStack = 64;  // of a thread
constexpr int kMaxWays = 6;
constexpr size_t kMaxVisited = 256;  // of an object
constexpr size_t kMaxMet = 20000;    // in all

class Search {
 public:
  Search(RemoteMemory& memory, const Layout& layout, TorchClasses& classes)
      : memory_(memory), layout_(layout), classes_(classes), reader_(memory, layout) {}

  void AddFrames(const SearchStart& thread) {
    ThreadStack stack(layout_, thread.state, thread.interpreter, kMaxStack);
    (void)stack.ReadAgain(memory_);
    for (const RawFrame& frame : stack.frames()) {
      for (const FrameValue& found : ReadFrameValues(memory_, layout_, frame)) {
        Add(found.value, 0);
      }
    }
  }
  void AddMain(RemoteAddr interpreter) {
    if (const auto main = FindModule(memory_, layout_, interpreter, "__main__")) {
      reader_.VisitAttributes(*main, kMaxVisited, [this](RemoteAddr, RemoteAddr value) {
        Add(value, 0);
        return true;
      });
    }
  }
  TorchObjects Run(Nanos deadline) {
    while (!open_.empty() && MonotonicNow() < deadline) {
      const Place place = open_.front();
      open_.pop_front();
      Visit(place);
    }
    return std::move(found_);
  }

 private:
  struct Place {
    RemoteAddr object;
    int depth = 0;
  };

  void Add(RemoteAddr object, int depth) {
    if (depth <= kMaxWays && seen_.size() < kMaxMet && !object.IsNull() && seen_.insert(object).second) {
      open_.push_back({object, depth});
    }
  }

  void Visit(const Place& place) {
    const auto add = [&](RemoteAddr, RemoteAddr value) {
      Add(value, place.depth + 1);
      return true;
    };
    switch (classes_.KindOf(place.object)) {
      case TorchKind::kModule: found_.modules.push_back(place.object); break;
      case TorchKind::kOptimizer:
        if (FindAttribute(reader_, place.object, "param_groups")) {
          found_.optimizers.push_back(place.object);
        } else {  // it wraps another one
          reader_.VisitAttributes(place.object, kMaxVisited, add);
        }
        break;
      case TorchKind::kDict: reader_.VisitDict(place.object, kMaxVisited, add); break;
      case TorchKind::kList:
        for (const RemoteAddr item : reader_.ReadList(place.object, kMaxVisited).value_or(std::vector<RemoteAddr>())) {
          Add(item, place.depth + 1);
        }
        break;
      case TorchKind::kTuple:
        for (const RemoteAddr item : reader_.ReadTuple(place.object, kMaxVisited).value_or(std::vector<RemoteAddr>())) {
          Add(item, place.depth + 1);
        }
        break;
      case TorchKind::kOther: reader_.VisitAttributes(place.object, kMaxVisited, add); break;
      case TorchKind::kTensor:
      case TorchKind::kPlain: break;
    }
  }

  RemoteMemory& memory_;
  const Layout& layout_;
  TorchClasses& classes_;
  ObjectReader reader_;
  std::deque<Place> open_;
  std::unordered_set<RemoteAddr> seen_;
  TorchObjects found_;
};

}  // namespace

TorchObjects FindTorchObjects(RemoteMemory& memory, const Layout& layout, TorchClasses& classes,
                              std::span<const SearchStart> threads, Nanos deadline) {
  Search search(memory, layout, classes);
  for (const SearchStart& thread : threads) {
    search.AddFrames(thread);
  }
  if (!threads.empty()) {
    search.AddMain(threads.front().interpreter);
  }
  return search.Run(deadline);
}

}  // namespace ptrace_prof
