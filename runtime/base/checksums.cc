#include "runtime/base/checksums.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/parallel.h"

namespace tessera {

uint32_t Crc32(uint32_t so_far, const void* bytes, int64_t count) {
  return static_cast<uint32_t>(
      crc32_z(so_far, static_cast<const Bytef*>(bytes), static_cast<size_t>(count)));
}

uint32_t ParallelCrc32(const void* bytes, int64_t count, int threads) {
  constexpr int64_t kPiece = 4 << 20;
  if (count <= kPiece || threads == 1) return Crc32(0, bytes, count);
  std::vector<uint32_t> pieces(static_cast<size_t>((count + kPiece - 1) / kPiece));
  ThreadPool(threads).For(std::ssize(pieces), 1, [&](int64_t i, int64_t) {
    pieces[static_cast<size_t>(i)] = Crc32(0, static_cast<const char*>(bytes) + i * kPiece,
                                           std::min(kPiece, count - i * kPiece));
  });
  const auto behind_whole = crc32_combine_gen(kPiece);
  uint32_t crc = 0;
  for (size_t i = 0; i + 1 < pieces.size(); ++i)
    crc = static_cast<uint32_t>(crc32_combine_op(crc, pieces[i], behind_whole));
  const int64_t last = count - (std::ssize(pieces) - 1) * kPiece;
  return static_cast<uint32_t>(crc32_combine(crc, pieces.back(), last));
}

std::string Crc32Text(uint32_t crc) { return Format("{:08x}", crc); }

std::string Crc32TextOf(std::string_view bytes) {
  return Crc32Text(Crc32(0, bytes.data(), std::ssize(bytes)));
}

}  // namespace tessera
