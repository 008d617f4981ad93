#ifndef TESSERA_EMBEDDING_PLUGIN_OBJECT_H_
#define TESSERA_EMBEDDING_PLUGIN_OBJECT_H_
// A shared object that this process loads, and keeps until it ends.
#include <string>
#include <string_view>

namespace tessera::internal {

struct PluginObject {
  void* handle = nullptr;  // of dlopen; null: it cannot be loaded
  // The loader's text on what it needs and this process does not have, which it is loaded without
  // where that goes; "": it has all.
  std::string lacks = "";
  // Loading it has changed how the thread rounds, or whether it keeps small (subnormal) numbers, as
  // what GCC links for -ffast-math does. The thread computes as before again.
  bool changed_arithmetic = false;
};

// Loads the object in the file at `path`, which has these bytes: from a copy in memory, so that a
// file that is written over later changes nothing, or, where the copy cannot be loaded, as one that
// finds its libraries by $ORIGIN, from the file itself.
PluginObject LoadPluginObject(const std::string& path, std::string_view bytes);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_PLUGIN_OBJECT_H_
