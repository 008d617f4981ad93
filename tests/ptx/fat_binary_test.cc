// nvcc's containers of code, made by hand.
#include "tools/ptx/fat_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
// An entry whose head has 32 bytes.
std::string Entry(uint16_t kind, const std::string& code) {
  return Bytes(kind) + Bytes<uint16_t>(1) + Bytes<uint32_t>(32) + Bytes<uint64_t>(code.size()) +
         std::string(16, 'h') + code;
}
std::string Container(const std::string& entries) {
  return Bytes<uint32_t>(0xba55ed50) + Bytes<uint16_t>(1) + Bytes<uint16_t>(16) +
         Bytes<uint64_t>(entries.size()) + entries;
}

TEST(FatBinary, ThePtxBesideMachineCode) {
  const std::string text = ".version 9.0\n.target sm_90\n";
  const std::string bytes = Container(Entry(2,
                                            "\x7f"
                                            "ELF") +
                                      Entry(1, text + '\0'));
  EXPECT_EQ(ptx::PtxOf(bytes.data()), text);
}

TEST(FatBinary, AllContainersOfAnObject) {
  const std::string a = ".version 9.0 // a", b = ".version 9.0 // b";
  EXPECT_THAT(ptx::PtxInObject("head" + Container(Entry(1, a)) + "between" +
                               Container(Entry(1, b)) + "tail"),
              ElementsAre(a, b));
  EXPECT_THAT(ptx::PtxInObject("nothing here"), ElementsAre());
}

TEST(FatBinary, CompressedOrWithout) {
  const std::string compressed = Container(Entry(1, "\x28\xb5\x2f\xfd"));
  EXPECT_THROW(ptx::PtxOf(compressed.data()), std::runtime_error);
  const std::string without = Container(Entry(2,
                                              "\x7f"
                                              "ELF"));
  EXPECT_THROW(ptx::PtxOf(without.data()), std::runtime_error);
  EXPECT_THROW(ptx::PtxOf(std::string(64, 'x').data()), std::runtime_error);
}

}  // namespace
}  // namespace tessera::testing
