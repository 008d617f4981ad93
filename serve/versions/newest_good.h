#ifndef TESSERA_SERVE_VERSIONS_NEWEST_GOOD_H_
#define TESSERA_SERVE_VERSIONS_NEWEST_GOOD_H_
// Names the newest good version to those who wanted the newest in a folder, which is bad.
#include <functional>
#include <string>

#include "runtime/base/check.h"
#include "serve/model_spec.h"

namespace tessera::serve {

// Throws Error for the newest version of a folder of versions, which could not be loaded because of
// `error`: it names the versions that cannot be loaded and the newest that can, and says how to use
// that one. Loads the others for it, the newest first, until one is good; `accept` refuses models
// as in ModelChainOptions. Returns for a path that is no folder of versions.
void ThrowWithNewestGood(const std::string& path, const Error& error,
                         const std::function<void(const ModelSpec&)>& accept = {});

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_NEWEST_GOOD_H_
