#ifndef TESSERA_TESTS_TESTING_ERROR_OF_H_
#define TESSERA_TESTS_TESTING_ERROR_OF_H_
// The message of a call that fails, for tests of messages.
#include <string>

#include "runtime/base/check.h"

namespace tessera::testing {

// The text of the Error that `fn` throws, "" if it throws none.
template <typename Fn>
std::string ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_ERROR_OF_H_
