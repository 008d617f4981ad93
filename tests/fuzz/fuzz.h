#ifndef TESSERA_TESTS_FUZZ_FUZZ_H_
#define TESSERA_TESTS_FUZZ_FUZZ_H_
// A fuzz target: one reader, fed with bytes that nobody checked. It may refuse them by an Error;
// anything else that it does not survive is a bug. Each target's file defines
// LLVMFuzzerTestOneInput, as libFuzzer wants it, and Seeds. Without libFuzzer, driver.cc is the
// program.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tessera::fuzz {

// Good inputs, from which bad ones are made. Defined by the target.
std::vector<std::string> Seeds();

inline std::string_view AsText(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Calls fn, which may refuse.
template <typename Fn>
void MayRefuse(Fn&& fn) {
  try {
    fn();
  } catch (const Error&) {
  }
}

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_FUZZ_H_
