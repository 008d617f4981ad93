#ifndef TESSERA_SPARSE_IDS_SET_BITS_H_
#define TESSERA_SPARSE_IDS_SET_BITS_H_
// Which bits of a byte are set, as a table: what AVX2 has instead of compressing by a mask.
#include <immintrin.h>

#include <cstdint>

namespace tessera::internal::TESSERA_ISA {

struct SetBits {
  uint8_t at[256][8];    // places of the bits set, rising, then 0
  int8_t ranks[256][8];  // of each bit set, how many are before it; of the others −128
};

constexpr SetBits MakeSetBits() {
  SetBits bits{};
  for (int byte = 0; byte < 256; ++byte) {
    int8_t rank = 0;
    for (uint8_t bit = 0; bit < 8; ++bit) {
      bits.ranks[byte][bit] = -128;
      if ((byte >> bit & 1) == 0) continue;
      bits.at[byte][rank] = bit;
      bits.ranks[byte][bit] = rank++;
    }
  }
  return bits;
}

alignas(64) inline constexpr SetBits kSetBits = MakeSetBits();

template <typename Byte>
__m128i LoadEight(const Byte* bytes) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_SPARSE_IDS_SET_BITS_H_
