// The bytes of a plain, gzip or zstd file: the text is the same whatever pieces are asked for. The
// first byte says whether the file's name ends with .gz.
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "data/files/text_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kMaxText = 1 << 16;

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  std::string out(text.size() + 100, '\0');
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("no zlib");
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

struct Outcome {
  std::string text = {};
  bool refused = false;
};

// Reads until the end, kMaxText bytes, or an error.
Outcome Read(const std::string& path, size_t piece) {
  Outcome outcome;
  std::string room(piece, '\0');
  try {
    TextFile file(path);
    while (outcome.text.size() < kMaxText) {
      const size_t count = file.Read(room.data(), piece);
      if (count > piece || file.offset() > file.bytes()) __builtin_trap();
      if (count == 0) break;
      outcome.text.append(room, 0, count);
    }
  } catch (const Error&) {
    outcome.refused = true;
  }
  return outcome;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string text = "1\t0.5\tabc\n";
  for (int i = 0; i < 40; ++i) text += Format("{}\t{}\trow {}\n", i % 2, i * i, i);
  return {'\0' + text, '\0' + Gzip(text) + Gzip("end\n") + std::string(9, '\0'), '\1' + Gzip(text),
          '\0' + Zstd(text) + Zstd("end\n"),
          '\0' + std::string("\x50\x2a\x4d\x18\x02\0\0\0..", 10) + Zstd(text)};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const std::string path =
      fuzz::WriteTempFile(data[0] % 2 == 0 ? "text" : "text.gz", fuzz::AsText(data + 1, size - 1));
  const fuzz::Outcome whole = fuzz::Read(path, 2 * fuzz::kMaxText), pieces = fuzz::Read(path, 7);
  // An error comes without the text before it, and text that is long enough before an error.
  const bool ends = whole.text.size() < fuzz::kMaxText && pieces.text.size() < fuzz::kMaxText;
  if (ends && whole.refused != pieces.refused) __builtin_trap();
  if (ends && !whole.refused && whole.text != pieces.text) __builtin_trap();
  return 0;
}
