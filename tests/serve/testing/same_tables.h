#ifndef TESSERA_TESTS_SERVE_TESTING_SAME_TABLES_H_
#define TESSERA_TESTS_SERVE_TESTING_SAME_TABLES_H_
// Compares the tables of two served models.
#include <gtest/gtest.h>

#include <cstring>

#include "serve/served_model.h"

namespace tessera::testing {

// Whether two models have the same stored rows, byte for byte, and the same rows for raw ids.
inline void ExpectSameTables(const serve::ServedModel& a, const serve::ServedModel& b) {
  ASSERT_EQ(a.spec().tables.size(), b.spec().tables.size());
  for (size_t t = 0; t < a.spec().tables.size(); ++t) {
    const std::string& name = a.spec().tables[t].name;
    const Tensor x = a.tables().Rows(t), y = b.tables().Rows(t);
    ASSERT_EQ(x.shape(), y.shape()) << name;
    EXPECT_EQ(std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())), 0) << name;
    ASSERT_EQ(a.tables().ids(t) == nullptr, b.tables().ids(t) == nullptr) << name;
    if (a.tables().ids(t) == nullptr) continue;
    const auto i = a.tables().ids(t)->Entries(), j = b.tables().ids(t)->Entries();
    ASSERT_EQ(i.size(), j.size()) << name;
    for (size_t e = 0; e < i.size(); ++e)
      EXPECT_TRUE(i[e].id == j[e].id && i[e].row == j[e].row) << name << ": " << i[e].id;
  }
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_TESTING_SAME_TABLES_H_
