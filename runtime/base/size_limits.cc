#include "runtime/base/size_limits.h"

#include "runtime/base/check.h"

namespace tessera {
namespace {

// The numbers as a product: "3 * 4 * 5".
std::string Joined(std::initializer_list<int64_t> numbers, const char* sign) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : sign) + std::to_string(number);
  return text;
}

[[noreturn]] void ThrowTooLarge(std::string_view what, const std::string& numbers) {
  throw Error(Format("{}: {} is more than a number of 63 bits", what, numbers));
}

}  // namespace

int64_t CheckedProduct(std::string_view what, std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool fits = true, zero = false;
  for (const int64_t factor : factors) {
    TESSERA_DCHECK(factor >= 0, "{}: factor {}", what, factor);
    zero = zero || factor == 0;
    fits = !__builtin_mul_overflow(product, factor, &product) && fits;
  }
  if (zero) return 0;
  if (!fits) ThrowTooLarge(what, Joined(factors, " * "));
  return product;
}

int64_t CheckedSum(std::string_view what, std::initializer_list<int64_t> terms) {
  int64_t sum = 0;
  for (const int64_t term : terms)
    if (__builtin_add_overflow(sum, term, &sum)) ThrowTooLarge(what, Joined(terms, " + "));
  return sum;
}

void CheckPositive(int64_t value, int64_t most, std::string_view where) {
  if (value <= 0) throw Error(Format("{}: expected an integer above 0, got {}", where, value));
  if (value > most) throw Error(Format("{}: expected at most {}, got {}", where, most, value));
}

void CheckCount(int64_t value, int64_t most, std::string_view where) {
  if (value < 0) throw Error(Format("{}: expected 0 or more, got {}", where, value));
  if (value > most) throw Error(Format("{}: expected at most {}, got {}", where, most, value));
}

void CheckLayers(std::span<const int64_t> sizes, const std::string& where) {
  if (std::ssize(sizes) > SizeLimits::kLayers)
    throw Error(
        Format("{}: expected at most {} layers, got {}", where, SizeLimits::kLayers, sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i)
    CheckPositive(sizes[i], SizeLimits::kDim, Format("{}[{}]", where, i));
}

void CheckTableSize(int64_t rows, int64_t dim, const std::string& where) {
  CheckPositive(rows, SizeLimits::kRows, where + ": rows");
  CheckPositive(dim, SizeLimits::kDim, where + ": dim");
  if (rows > SizeLimits::kElements / dim)
    throw Error(Format("{}: {} rows of dim {}: expected at most {} numbers in all", where, rows,
                       dim, SizeLimits::kElements));
}

}  // namespace tessera
