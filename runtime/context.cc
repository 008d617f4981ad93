#include "runtime/context.h"

#include "runtime/dispatch.h"

namespace tessera {

Context::Context(ContextOptions options)
    : device_(options.device),
      pool_(options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads)),
      random_(options.seed) {
  DispatchDevice(device_, [](auto) {});
}

}  // namespace tessera
