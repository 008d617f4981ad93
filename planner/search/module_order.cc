#include "planner/search/module_order.h"

#include <memory>
#include <string>
#include <string_view>

namespace tessera::internal {
namespace {

struct Node {
  std::string name;
  int module = -1;
  std::vector<std::unique_ptr<Node>> children;

  Node& Child(std::string_view child) {
    for (const auto& node : children)
      if (node->name == child) return *node;
    children.push_back(std::make_unique<Node>());
    children.back()->name = child;
    return *children.back();
  }
};

Node& NodeAt(Node& root, std::string_view path) {
  Node* node = &root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    node = &node->Child(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return *node;
}

}  // namespace

std::vector<int> TorchRecModuleOrder(const std::vector<PlannerModule>& modules) {
  Node root;
  for (size_t i = 0; i < modules.size(); ++i)
    NodeAt(root, modules[i].path).module = static_cast<int>(i);
  std::vector<int> order;
  std::vector<const Node*> stack = {&root};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->module >= 0) order.push_back(node->module);
    for (const auto& child : node->children) stack.push_back(child.get());
  }
  return order;
}

}  // namespace tessera::internal
