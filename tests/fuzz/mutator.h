#ifndef TESSERA_TESTS_FUZZ_MUTATOR_H_
#define TESSERA_TESTS_FUZZ_MUTATOR_H_
// Bad inputs from good ones: a few changes to one of them, each of bytes, of a number, of a word or
// of a run that goes, comes again, or comes from another input. The same for the same seed on every
// machine.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fuzz {

class Mutator {
 public:
  // REQUIRES: at least one good input.
  explicit Mutator(std::vector<std::string> good) : good_(std::move(good)) {}

  // Bad input number `round`.
  std::string Make(uint64_t round) const;

 private:
  std::vector<std::string> good_;
};

}  // namespace tessera::fuzz
#endif  // TESSERA_TESTS_FUZZ_MUTATOR_H_
