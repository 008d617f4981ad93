// The search of a GrowingIndex, compiled once for each instruction set.
#include "embedding/managed_collision/index/id_hash.h"
#include "embedding/managed_collision/index/index_search.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tessera::internal::TESSERA_ISA {
namespace {

#if defined(__AVX512F__)
// The first line is eight ids; the second begins with two.
inline unsigned MatchIn(const IndexGroup& group, int64_t id) {
  const __m512i wanted = _mm512_set1_epi64(id);
  const unsigned first = _mm512_cmpeq_epi64_mask(_mm512_load_si512(group.ids), wanted),
                 second = _mm512_cmpeq_epi64_mask(_mm512_load_si512(group.ids + 8), wanted);
  return (first | second << 8) & unsigned{group.used};
}
#elif defined(__AVX2__)
// The third register of four holds two ids, and fields that lie behind the ids.
inline unsigned MatchIn(const IndexGroup& group, int64_t id) {
  const __m256i wanted = _mm256_set1_epi64x(id);
  const auto four = [&](int first) {
    const auto* ids = reinterpret_cast<const __m256i*>(group.ids + first);
    const __m256i same = _mm256_cmpeq_epi64(_mm256_load_si256(ids), wanted);
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
  };
  return (four(0) | four(4) << 4 | four(8) << 8) & unsigned{group.used};
}
#else
inline unsigned MatchIn(const IndexGroup& group, int64_t id) { return group.Match(id); }
#endif

}  // namespace

void ReadBlock(IndexArray ids, int64_t begin, int64_t end, IndexBlock& block) {
  const int64_t n = end - begin < IndexBlock::kIds ? end - begin : IndexBlock::kIds;
  block.n = n;
  if (ids.wide) {
    const int64_t* wide = static_cast<const int64_t*>(ids.data) + begin;
    for (int64_t i = 0; i < n; ++i) block.ids[i] = wide[i];
  } else {
    const int32_t* narrow = static_cast<const int32_t*>(ids.data) + begin;
    for (int64_t i = 0; i < n; ++i) block.ids[i] = narrow[i];
  }
  for (int64_t i = 0; i < n; ++i) block.hashes[i] = HashId(block.ids[i]);
  for (int64_t i = n; i < IndexBlock::kIds; ++i) block.hashes[i] = 0;
}

void SearchBlock(const IndexView& index, IndexBlock& block, const IndexBlock& next) {
  for (int64_t i = 0; i < block.n; ++i) {
    const IndexGroup& ahead = index.SegmentOf(next.hashes[i]).Home(next.hashes[i]);
    __builtin_prefetch(ahead.ids);
    __builtin_prefetch(ahead.ids + 8);
    const uint64_t hash = block.hashes[i];
    const IndexSegment& segment = index.SegmentOf(hash);
    const IndexGroup& home = segment.Home(hash);
    const unsigned same = MatchIn(home, block.ids[i]);
    const int64_t row = home.rows[__builtin_ctz(same | 1u << (IndexGroup::kSlots - 1))];
    block.rows[i] = same != 0 ? row : -1;
    if (same == 0 && home.overflow != 0) block.rows[i] = segment.FindBeyond(hash, block.ids[i]);
  }
}

}  // namespace tessera::internal::TESSERA_ISA
