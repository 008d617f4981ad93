#include "embedding/plugin_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cfenv>
#include <filesystem>
#include <limits>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

namespace fs = std::filesystem;

// How a thread computes with floats, as far as a control register says.
struct Arithmetic {
  int rounding;
  bool keeps_small_results, keeps_small_operands;

  bool operator==(const Arithmetic&) const = default;
};

Arithmetic ArithmeticOfThread() {
  const volatile float normal = std::numeric_limits<float>::min(),
                       small = std::numeric_limits<float>::denorm_min(), half = 0.5f,
                       large = 0x1p30f;
  const volatile float halved = normal * half, scaled = small * large;
  return {std::fegetround(), halved != 0, scaled != 0};
}

// Writes all bytes; false where that fails.
bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Loads a copy in memory; null where that fails. The copy's file stays open, since the loader takes
// two objects with one name for the same one. Its name leads other processes, as a debugger, to it.
void* LoadCopy(const std::string& path, std::string_view bytes) {
  const int file = memfd_create(fs::path(path).filename().c_str(), MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* handle = nullptr;
  if (WriteAll(file, bytes))
    handle = dlopen(Format("/proc/{}/fd/{}", getpid(), file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) close(file);
  return handle;
}

PluginObject Load(const std::string& path, std::string_view bytes) {
  if (void* copy = LoadCopy(path, bytes)) return {.handle = copy};
  const std::string file = fs::absolute(path);
  if (void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {.handle = object};
  const std::string lacks = dlerror();
  return {.handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL), .lacks = lacks};
}

}  // namespace

PluginObject LoadPluginObject(const std::string& path, std::string_view bytes) {
  std::fenv_t environment;
  std::fegetenv(&environment);
  const Arithmetic before = ArithmeticOfThread();
  PluginObject object = Load(path, bytes);
  object.changed_arithmetic = ArithmeticOfThread() != before;
  std::fesetenv(&environment);
  return object;
}

}  // namespace tessera::internal
