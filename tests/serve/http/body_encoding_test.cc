#include "serve/http/body_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "serve/http/http_error.h"

namespace tessera::serve::internal {
namespace {

using ::testing::HasSubstr;

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  out.resize(size);
  return out;
}

std::string Decoded(BodyEncoding encoding, const std::string& encoded, size_t most = 1 << 20) {
  BodyDecoder decoder(encoding, encoded, most);
  while (!decoder.Step()) EXPECT_LE(decoder.bytes(), encoded.size() + most);
  return decoder.Take();
}

// "413 the body …": what Decoded throws.
std::string Refusal(BodyEncoding encoding, const std::string& encoded, size_t most = 1 << 20) {
  try {
    Decoded(encoding, encoded, most);
  } catch (const HttpError& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
  return "none";
}

std::string Noise(size_t bytes) {
  std::mt19937 random(1);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(BodyEncoding, Names) {
  for (const char* name : {"", "identity", "Identity"})
    EXPECT_EQ(ParseBodyEncoding(name), BodyEncoding::kIdentity) << name;
  for (const char* name : {"gzip", "GZIP", "x-gzip"})
    EXPECT_EQ(ParseBodyEncoding(name), BodyEncoding::kGzip) << name;
  EXPECT_EQ(ParseBodyEncoding("deflate"), BodyEncoding::kDeflate);
  for (const char* name : {"br", "zstd", "gzip, gzip", "gzip "})
    EXPECT_EQ(ParseBodyEncoding(name), std::nullopt) << name;
}

TEST(BodyEncoding, IsNoticedWhereItIsNotNamed) {
  EXPECT_THROW(CheckIsNotEncoded(*Gzip(std::string(1000, 'x'))), HttpError);
  for (const std::string body : {"", "{}", "\x1f", "\x1f\x8b"}) CheckIsNotEncoded(body);
  CheckIsNotEncoded(std::string("\x1f\x8b\x08\0\0\0\0\0{", 9));  // safetensors of a long header
}

TEST(BodyEncoding, DecodesOfAnySize) {
  for (const size_t size : {0, 1, 1000, 300'000, 900'000})
    for (const std::string& text : {Noise(size), std::string(size, 'x')}) {
      EXPECT_EQ(Decoded(BodyEncoding::kDeflate, Deflated(text)), text) << size;
      if (const auto gzip = Gzip(text)) {
        EXPECT_EQ(Decoded(BodyEncoding::kGzip, *gzip), text) << size;
      }
    }
}

TEST(BodyEncoding, TakesAsMuchAsTheLimitAndNoByteMore) {
  for (const size_t most : {1000, 262'144, 600'000})
    for (const char c : {'x', '\0'}) {
      const std::string fits(most, c), over(most + 1, c);
      EXPECT_EQ(Decoded(BodyEncoding::kGzip, *Gzip(fits), most), fits);
      EXPECT_EQ(
          Refusal(BodyEncoding::kGzip, *Gzip(over), most),
          "413 the body has more than " + std::to_string(most) + " bytes once its gzip is decoded");
    }
  const std::string bomb = Deflated(std::string(64 << 20, 'x'));
  EXPECT_LT(bomb.size(), size_t{1} << 20);
  EXPECT_EQ(Refusal(BodyEncoding::kDeflate, bomb),
            "413 the body has more than 1048576 bytes once its deflate is decoded");
}

TEST(BodyEncoding, GzipMayHaveSeveralMembers) {
  const std::string member = *Gzip(std::string(5000, 'x'));
  EXPECT_EQ(Decoded(BodyEncoding::kGzip, member + member + member), std::string(15000, 'x'));
  EXPECT_THAT(Refusal(BodyEncoding::kGzip, member + member.substr(0, 12)),
              HasSubstr("are cut short"));
}

TEST(BodyEncoding, DamagedBodiesAreRefused) {
  const std::string good = *Gzip(std::string(5000, 'x'));
  EXPECT_THAT(Refusal(BodyEncoding::kGzip, "{}"), HasSubstr("400 the body is not valid gzip: "));
  EXPECT_THAT(Refusal(BodyEncoding::kDeflate, good),
              HasSubstr("400 the body is not valid deflate: "));
  EXPECT_EQ(Refusal(BodyEncoding::kGzip, good + "abc"),
            "400 3 bytes follow the end of the body's gzip data");
  for (size_t size = 1; size < good.size(); ++size)
    EXPECT_EQ(Refusal(BodyEncoding::kGzip, good.substr(0, size)),
              "400 the body's gzip data are cut short")
        << size;
  std::string flipped = good;
  flipped[good.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(Refusal(BodyEncoding::kGzip, flipped), HasSubstr("incorrect data check"));
}

TEST(BodyEncoding, AnswersAreEncodedWhereThatIsAskedForAndHelps) {
  for (const char* accepts : {"gzip", "deflate, gzip", "gzip;q=0.5", "GZip", "*", "br;q=1.0,\t* "})
    EXPECT_TRUE(AcceptsGzip(accepts)) << accepts;
  for (const char* accepts :
       {"", "br", "identity", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzipped", ",;,"})
    EXPECT_FALSE(AcceptsGzip(accepts)) << accepts;
  EXPECT_EQ(Gzip(Noise(2000)), std::nullopt);
  EXPECT_LT(Gzip(std::string(2000, 'x'))->size(), 100u);
}

}  // namespace
}  // namespace tessera::serve::internal
