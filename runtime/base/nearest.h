#ifndef TESSERA_RUNTIME_BASE_NEAREST_H_
#define TESSERA_RUNTIME_BASE_NEAREST_H_
// "Did you mean …?"
#include <cstddef>
#include <span>
#include <string>

namespace tessera {

// The name that becomes `word` by the fewest letters added, dropped or changed; "" if these are
// more than two, and more than a third of the word's.
std::string Nearest(const std::string& word, std::span<const std::string> names);
// "" if these are more than `most`.
std::string Nearest(const std::string& word, std::span<const std::string> names, size_t most);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_NEAREST_H_
