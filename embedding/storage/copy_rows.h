#ifndef TESSERA_EMBEDDING_STORAGE_COPY_ROWS_H_
#define TESSERA_EMBEDDING_STORAGE_COPY_ROWS_H_
// Rows copied from one place in memory to another, of any strides.
#include <cstdint>
#include <cstring>

namespace tessera::internal {

// Copies n rows of row_bytes that lie from_stride and to_stride bytes apart.
inline void CopyRows(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n,
                     int64_t row_bytes) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<size_t>(row_bytes));
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_STORAGE_COPY_ROWS_H_
