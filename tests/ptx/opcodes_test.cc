// Parses the PTX of every kernel in the object files that are named, and prints the instructions
// that the interpreter does not know; there should be none.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tools/ptx/fat_binary.h"
#include "tools/ptx/module.h"

namespace {

struct Found {
  int kernels = 0, instructions = 0;
  std::set<std::string> known;
  std::map<std::string, std::string> unknown;  // and where one of them is
};

void Look(ptx::Module& module, Found& found) {
  for (const std::string& kernel : module.Kernels()) {
    ++found.kernels;
    const ptx::Function& function = *module.Find(kernel);
    for (const ptx::Instruction& i : function.code) {
      ++found.instructions;
      std::string name = i.text.substr(i.text.front() == '@' ? i.text.find_first_of(" \t") + 1 : 0);
      name = name.substr(0, name.find_first_of(" \t\n"));
      if (i.execute != nullptr)
        found.known.insert(name);
      else
        found.unknown[name] = kernel + " (" + function.Where(i.source) + ")";
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Found found;
  for (int k = 1; k < argc; ++k) {
    std::ifstream file(argv[k], std::ios::binary);
    if (!file) std::printf("cannot read %s\n", argv[k]);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (const std::string& text : ptx::PtxInObject(bytes)) Look(*ptx::ParseModule(text), found);
  }
  for (const auto& [name, where] : found.unknown)
    std::printf("unknown: %s in %s\n", name.c_str(), where.c_str());
  std::printf("%d files, %d kernels, %d instructions: %zu are known, %zu are not\n", argc - 1,
              found.kernels, found.instructions, found.known.size(), found.unknown.size());
  return found.unknown.empty() && found.kernels > 100 ? 0 : 1;
}
