// Stacks merged by name from the root on, with the samples of each node, as a flame graph shows them.
//
// A name is any number to which the caller gives a meaning (a function, a process). Node 0 is the root and counts all
// samples. Parents precede children.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ptrace_prof {

class CallTree {
 public:
  struct Node {
    uint32_t parent = 0;
    uint32_t name = 0;
    uint32_t depth = 0;
    uint64_t samples = 0;  // of the node and all below it
  };

  CallTree() : nodes_(1) {}

  void Add(std::span<const uint32_t> path, uint64_t samples) {
    uint32_t at = 0;
    nodes_[0].samples += samples;
    for (const uint32_t name : path) {
      const auto [child, is_new] =
          children_.try_emplace(static_cast<uint64_t>(at) << 32 | name, static_cast<uint32_t>(nodes_.size()));
      if (is_new) {
        nodes_.push_back({at, name, nodes_[at].depth + 1, 0});
      }
      at = child->second;
      nodes_[at].samples += samples;
    }
  }

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent and name
};

}  // namespace ptrace_prof
