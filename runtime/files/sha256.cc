#include "runtime/files/sha256.h"

#include <array>
#include <bit>
#include <cstdint>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using State = std::array<uint32_t, 8>;

constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr size_t kBlock = 64;
constexpr std::array<uint32_t, kBlock> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::array<uint32_t, kBlock> ScheduleOf(std::string_view block) {
  std::array<uint32_t, kBlock> w = {};
  for (size_t i = 0; i < kBlock; ++i)
    w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (size_t i = 16; i < kBlock; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  return w;
}

void AddBlock(std::string_view block, State& state) {
  const std::array<uint32_t, kBlock> w = ScheduleOf(block);
  State s = state;
  for (size_t i = 0; i < kBlock; ++i) {
    const uint32_t e = s[4], a = s[0];
    const uint32_t one = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                         ((e & s[5]) ^ (~e & s[6])) + kRounds[i] + w[i];
    const uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                         ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < s.size(); ++i) state[i] += s[i];
}

// The bytes behind the last whole block, with what fills them up: a bit, zeros, the length in bits.
std::string LastBlocks(std::string_view bytes) {
  std::string last(bytes.substr(bytes.size() - bytes.size() % kBlock));
  last += '\x80';
  while (last.size() % kBlock != kBlock - 8) last += '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    last += static_cast<char>(static_cast<uint64_t>(bytes.size()) * 8 >> shift);
  return last;
}

}  // namespace

std::string Sha256(std::string_view bytes) {
  State state = kStart;
  size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) AddBlock(bytes.substr(at, kBlock), state);
  const std::string last = LastBlocks(bytes);
  for (at = 0; at < last.size(); at += kBlock)
    AddBlock(std::string_view(last).substr(at, kBlock), state);
  std::string text;
  for (const uint32_t word : state) text += Format("{:08x}", word);
  return text;
}

}  // namespace tessera
