#include "tools/ptx/register.h"

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/ptx/fat_binary.h"

namespace ptx {
namespace {

std::map<const void*, Kernel>& Kernels() {
  static auto& kernels = *new std::map<const void*, Kernel>;
  return kernels;
}

Module& ModuleOf(const void* fat_binary) {
  static auto& modules = *new std::map<const void*, std::unique_ptr<Module>>;
  std::unique_ptr<Module>& module = modules[fat_binary];
  if (!module) module = ParseModule(PtxOf(fat_binary));
  return *module;
}

struct Launch {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<Launch> pending;

}  // namespace

const Function& Kernel::function() const {
  const Function* found = ModuleOf(fat_binary).Find(name);
  if (found == nullptr) throw std::runtime_error("PTX: no kernel " + PlainName(name));
  return *found;
}

Kernel* KernelOf(const void* host) {
  const auto found = Kernels().find(host);
  return found == Kernels().end() ? nullptr : &found->second;
}

}  // namespace ptx

// ---- what nvcc's code calls (crt/host_runtime.h)

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    void* data;
  };
  return reinterpret_cast<void**>(static_cast<Wrapper*>(wrapper)->data);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** fat_binary, const char* host, char*, const char* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  ptx::Kernels()[host] = {fat_binary, name};
}
// The host reads and writes no variable of a module: each lives in the module's own memory.
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

// A launch in triple brackets leaves its shape for the function that it calls.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     cudaStream_t stream) {
  ptx::pending.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  const ptx::Launch launch = ptx::pending.back();
  ptx::pending.pop_back();
  *grid = launch.grid;
  *block = launch.block;
  *shared_bytes = launch.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = launch.stream;
  return cudaSuccess;
}

}  // extern "C"
