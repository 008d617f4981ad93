#include "runtime/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// Levenshtein's distance; letters that changed places count two.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

bool HaveSameLetters(const std::string& a, const std::string& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

// How many letters may differ where nobody says it.
size_t MostOf(const std::string& word) { return std::max<size_t>(2, word.size() / 3); }

}  // namespace

std::string Nearest(const std::string& word, std::span<const std::string> names) {
  return Nearest(word, names, MostOf(word));
}

std::string Nearest(const std::string& word, std::span<const std::string> names, size_t most) {
  size_t least = most + 1;
  std::string nearest;
  for (const std::string& name : names)
    if (const size_t distance = Distance(word, name);
        distance < least && (2 * distance <= word.size() || HaveSameLetters(word, name))) {
      least = distance;
      nearest = name;
    }
  return nearest;
}

std::string DidYouMean(const std::string& word, std::span<const std::string> names) {
  return DidYouMean(word, names, MostOf(word));
}

std::string DidYouMean(const std::string& word, std::span<const std::string> names, size_t most) {
  const std::string near = Nearest(word, names, most);
  return near.empty() ? "" : Format(" (did you mean '{}'?)", near);
}

std::string NoneIsCalled(std::string_view what, const std::string& word,
                         std::span<const std::string> names) {
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return Format("no {} is called '{}'{}; there are {}", what, word, DidYouMean(word, names), known);
}

}  // namespace tessera
