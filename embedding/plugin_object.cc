#include "embedding/plugin_object.h"

#include <dlfcn.h>

#include <cfenv>
#include <filesystem>
#include <limits>

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

PluginObject Load(const std::string& path) {
  const std::string file = fs::absolute(path);
  if (void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {.handle = object};
  const std::string lacks = dlerror();
  return {.handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL), .lacks = lacks};
}

}  // namespace

PluginObject LoadPluginObject(const std::string& path) {
  std::fenv_t environment;
  std::fegetenv(&environment);
  const Arithmetic before = ArithmeticOfThread();
  PluginObject object = Load(path);
  object.changed_arithmetic = ArithmeticOfThread() != before;
  std::fesetenv(&environment);
  return object;
}

}  // namespace tessera::internal
