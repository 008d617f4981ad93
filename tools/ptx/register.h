#ifndef TESSERA_TOOLS_PTX_REGISTER_H_
#define TESSERA_TOOLS_PTX_REGISTER_H_
// The kernels of a program, as the code that nvcc puts into its objects registers them when the
// program starts.
#include <cstdint>
#include <string>

#include "tools/ptx/module.h"

namespace ptx {

struct Kernel {
  const void* fat_binary = nullptr;
  std::string name;
  uint64_t most_shared = 48 << 10;  // static and dynamic, until the program asks for more

  // Parses it when it is first asked for.
  const Function& function() const;
};

// The kernel that the host knows by this address; null if there is none.
Kernel* KernelOf(const void* host);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_REGISTER_H_
