// An encoded body of a request: what comes out is no larger than allowed. The first byte says
// whether it is gzip, and, times 8, how many bytes it may become.
#include <zlib.h>

#include <string>

#include "serve/http/body_encoding.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

using serve::internal::BodyDecoder;
using serve::internal::BodyEncoding;

std::string Decode(BodyEncoding encoding, std::string_view body, size_t most) {
  BodyDecoder decoder(encoding, std::string(body), most);
  // Each step takes some bytes, or gives some.
  size_t steps = body.size() + most + 2;
  while (!decoder.Step())
    if (steps-- == 0) __builtin_trap();
  return decoder.Take();
}

std::string Deflate(const std::string& text) {
  std::string out(compressBound(text.size()), '\0');
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  out.resize(size);
  return out;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += Format("{{\"a\": {}}}\n", i * i);
  const std::string gzip = serve::internal::Gzip(text).value();
  return {"\xff" + gzip, "\xff" + gzip + serve::internal::Gzip(std::string(90, 'x')).value(),
          "\xfe" + Deflate(text)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  using serve::internal::BodyEncoding;
  if (size == 0) return 0;
  const size_t most = data[0] * size_t{8};
  const bool gzip = data[0] % 2 == 1;
  fuzz::MayRefuse([&] {
    const std::string body = fuzz::Decode(gzip ? BodyEncoding::kGzip : BodyEncoding::kDeflate,
                                          fuzz::AsText(data + 1, size - 1), most);
    if (body.size() > most) __builtin_trap();
    const auto again = serve::internal::Gzip(body);
    if (again && fuzz::Decode(BodyEncoding::kGzip, *again, body.size()) != body) __builtin_trap();
  });
  return 0;
}
