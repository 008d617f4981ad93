#ifndef TESSERA_RUNTIME_BASE_NEAREST_H_
#define TESSERA_RUNTIME_BASE_NEAREST_H_
// "Did you mean …?"
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// The name that becomes `word` by the fewest letters added, dropped or changed. These are at most
// two, or a third of the word's, and at most half of them unless letters have changed places alone.
// "" where no name is so near.
std::string Nearest(const std::string& word, std::span<const std::string> names);
// Takes `most` in place of two or a third.
std::string Nearest(const std::string& word, std::span<const std::string> names, size_t most);

// " (did you mean 'adam'?)" for the name that is near to `word`; "" where none is.
std::string DidYouMean(const std::string& word, std::span<const std::string> names);
std::string DidYouMean(const std::string& word, std::span<const std::string> names, size_t most);
// "no optimizer is called 'adm' (did you mean 'adam'?); there are sgd, adam": what an error says of
// a word that is none of the names.
std::string NoneIsCalled(std::string_view what, const std::string& word,
                         std::span<const std::string> names);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_NEAREST_H_
