#ifndef TESSERA_SPARSE_OPS_NAMING_OP_H_
#define TESSERA_SPARSE_OPS_NAMING_OP_H_
// Errors of what several ops share, with the op's name in front.
#include <string_view>

#include "runtime/base/check.h"

namespace tessera::internal {

// Returns fn(); an Error that does not begin with the op's name gets it.
template <typename Fn>
auto NamingOp(std::string_view op, const Fn& fn) {
  try {
    return fn();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(op)) throw;
    throw Error(Format("{}: {}", op, error.what()));
  }
}

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_NAMING_OP_H_
