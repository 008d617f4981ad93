#ifndef TESSERA_TESTS_DATA_TESTING_NPZ_BYTES_H_
#define TESSERA_TESTS_DATA_TESTING_NPZ_BYTES_H_
// The bytes that numpy.save and numpy.savez write.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/checksums.h"

namespace tessera::testing {

inline std::string LittleEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

// descr: "<i4", …; shape: "(2, 3)", "(2,)", ….
inline std::string NpyBytes(const std::string& descr, const std::string& shape,
                            const std::string& elements) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return "\x93NUMPY" + std::string("\1\0\x76\0", 4) + header + "\n" + elements;
}

template <typename T>
std::string NpyOf(const std::string& descr, const std::string& shape, const std::vector<T>& list) {
  return NpyBytes(descr, shape,
                  {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)});
}

// Arrays by name, stored as savez does: the sizes of local headers are in a ZIP64 field, and
// checksums in the directory alone. `in_64`: sizes of the directory are in such a field, too, as in
// archives of more than 4 GiB.
inline std::string NpzBytes(const std::vector<std::pair<std::string, std::string>>& arrays,
                            bool in_64 = false) {
  std::string local, central;
  for (const auto& [array, bytes] : arrays) {
    const std::string name = array + ".npy", size = LittleEndian(bytes.size(), 8),
                      large = LittleEndian(0xffffffff, 4);
    const std::string extra =
        LittleEndian(1, 2) + LittleEndian(24, 2) + size + size + LittleEndian(local.size(), 8);
    const std::string crc = LittleEndian(Crc32(0, bytes.data(), std::ssize(bytes)), 4);
    const std::string small = LittleEndian(bytes.size(), 4);
    central += "PK\1\2" + std::string(6, '\0') + LittleEndian(0, 2) + std::string(4, '\0') + crc +
               (in_64 ? large + large : small + small) + LittleEndian(name.size(), 2) +
               LittleEndian(in_64 ? extra.size() : 0, 2) + std::string(10, '\0') +
               (in_64 ? large : LittleEndian(local.size(), 4)) + name + (in_64 ? extra : "");
    local += "PK\3\4" + std::string(14, '\0') + large + large + LittleEndian(name.size(), 2) +
             LittleEndian(20, 2) + name + LittleEndian(1, 2) + LittleEndian(16, 2) + size + size +
             bytes;
  }
  std::string end = "PK\5\6" + std::string(4, '\0');
  const std::string count = LittleEndian(arrays.size(), 2);
  end += count + count + LittleEndian(central.size(), 4) + LittleEndian(local.size(), 4) +
         LittleEndian(0, 2);
  if (!in_64) return local + central + end;
  const uint64_t record = local.size() + central.size();
  std::string end64 = "PK\6\6" + LittleEndian(44, 8) + std::string(12, '\0') +
                      LittleEndian(arrays.size(), 8) + LittleEndian(arrays.size(), 8) +
                      LittleEndian(central.size(), 8) + LittleEndian(local.size(), 8);
  end64 += "PK\6\7" + LittleEndian(0, 4) + LittleEndian(record, 8) + LittleEndian(1, 4);
  end.replace(16, 4, LittleEndian(0xffffffff, 4));
  return local + central + end64 + end;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_DATA_TESTING_NPZ_BYTES_H_
