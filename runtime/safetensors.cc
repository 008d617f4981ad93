#include "runtime/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

using Json = nlohmann::json;

constexpr std::pair<DType, const char*> kNames[] = {
    {DType::kF32, "F32"}, {DType::kF64, "F64"},  {DType::kF16, "F16"}, {DType::kBF16, "BF16"},
    {DType::kI8, "I8"},   {DType::kU8, "U8"},    {DType::kI16, "I16"}, {DType::kI32, "I32"},
    {DType::kI64, "I64"}, {DType::kBool, "BOOL"}};

DType DTypeNamed(const std::string& name) {
  for (const auto& [dtype, text] : kNames)
    if (name == text) return dtype;
  TESSERA_FAIL("dtype '{}' is not one this library has", name);
}

const char* NameOf(DType dtype) {
  for (const auto& [candidate, text] : kNames)
    if (candidate == dtype) return text;
  TESSERA_FAIL("no safetensors name for {}", dtype);
}

// What the header says of one tensor.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin, end;
};

Entry ParseEntry(const std::string& name, const Json& fields) {
  try {
    const auto dims = fields.at("shape").get<std::vector<int64_t>>();
    const auto offsets = fields.at("data_offsets").get<std::vector<uint64_t>>();
    TESSERA_CHECK_EQ(offsets.size(), 2u, "data_offsets");
    Entry entry{name, DTypeNamed(fields.at("dtype").get<std::string>()), Shape(std::span(dims)),
                offsets[0], offsets[1]};
    uint64_t bytes = static_cast<uint64_t>(SizeOf(entry.dtype));
    for (int64_t d : dims) {
      TESSERA_CHECK(d >= 0 && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes),
                    "shape {}", entry.shape);
    }
    TESSERA_CHECK(entry.begin <= entry.end && entry.end - entry.begin == bytes,
                  "data_offsets {} to {}, but shape {} of {} takes {} bytes", entry.begin,
                  entry.end, entry.shape, entry.dtype, bytes);
    return entry;
  } catch (const std::exception& error) {
    TESSERA_FAIL("header, tensor '{}': {}", name, error.what());
  }
}

// Entries in the order of their bytes. Throws unless they fill [0, data_bytes) without gap or
// overlap.
std::vector<Entry> ParseHeader(const std::string& text, uint64_t data_bytes,
                               std::map<std::string, std::string>& metadata) {
  const Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  TESSERA_CHECK(header.is_object(), "the header is not a JSON object");
  std::vector<Entry> entries;
  for (const auto& [name, fields] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : fields.items()) {
        TESSERA_CHECK(value.is_string(), "header, __metadata__: '{}' is not a string", key);
        metadata[key] = value.get<std::string>();
      }
      continue;
    }
    entries.push_back(ParseEntry(name, fields));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    TESSERA_CHECK_EQ(entry.begin, at, "header, tensor '{}': its bytes do not follow the one before",
                     entry.name);
    at = entry.end;
  }
  TESSERA_CHECK_EQ(at, data_bytes,
                   "bytes that the header names, and bytes in the file after the header (truncated "
                   "or too long)");
  return entries;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

void ReadExactly(std::FILE* file, void* out, size_t bytes) {
  TESSERA_CHECK_EQ(std::fread(out, 1, bytes, file), bytes, "bytes read");
}

Safetensors ReadOpened(Context& ctx, std::FILE* file, uint64_t file_bytes) {
  TESSERA_CHECK_GE(file_bytes, 8u, "bytes in the file, which begins with an 8-byte length");
  uint64_t header_bytes = 0;
  ReadExactly(file, &header_bytes, sizeof header_bytes);
  TESSERA_CHECK_LE(header_bytes, file_bytes - 8,
                   "length of the header (the file is truncated, or not a safetensors file)");
  std::string header(header_bytes, '\0');
  ReadExactly(file, header.data(), header.size());
  Safetensors content;
  for (const Entry& entry : ParseHeader(header, file_bytes - 8 - header_bytes, content.metadata)) {
    Tensor tensor = Tensor::Empty(ctx, entry.shape, entry.dtype);
    ReadExactly(file, tensor.raw_data(), static_cast<size_t>(tensor.nbytes()));
    content.tensors.emplace(entry.name, tensor);
  }
  return content;
}

std::string Header(const Safetensors& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  uint64_t at = 0;
  for (const auto& [name, tensor] : content.tensors) {
    const auto dims = tensor.shape().dims();
    const uint64_t end = at + static_cast<uint64_t>(tensor.nbytes());
    header[name] = {{"dtype", NameOf(tensor.dtype())},
                    {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                    {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // elements begin at a multiple of 8
  return text;
}

void WriteOpened(std::FILE* file, const Safetensors& content) {
  const auto write = [&](const void* data, size_t bytes) {
    TESSERA_CHECK(bytes == 0 || std::fwrite(data, 1, bytes, file) == bytes, "{}",
                  std::strerror(errno));
  };
  const std::string header = Header(content);
  const uint64_t header_bytes = header.size();
  write(&header_bytes, sizeof header_bytes);
  write(header.data(), header.size());
  for (const auto& [name, tensor] : content.tensors) {
    TESSERA_CHECK(tensor.is_contiguous(), "tensor '{}' is not contiguous", name);
    write(tensor.raw_data(), static_cast<size_t>(tensor.nbytes()));
  }
  TESSERA_CHECK(std::fflush(file) == 0 && fsync(fileno(file)) == 0, "{}", std::strerror(errno));
}

}  // namespace

Safetensors ReadSafetensors(Context& ctx, const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  TESSERA_CHECK(file != nullptr, "{}: cannot be read: {}", path, std::strerror(errno));
  try {
    TESSERA_CHECK(std::fseek(file.get(), 0, SEEK_END) == 0, "{}", std::strerror(errno));
    const long bytes = std::ftell(file.get());
    TESSERA_CHECK(bytes >= 0 && std::fseek(file.get(), 0, SEEK_SET) == 0, "{}",
                  std::strerror(errno));
    return ReadOpened(ctx, file.get(), static_cast<uint64_t>(bytes));
  } catch (const std::exception& error) {
    TESSERA_FAIL("{}: {}", path, error.what());
  }
}

void WriteSafetensors(const std::string& path, const Safetensors& content) {
  const std::string beside = path + ".tmp";
  try {
    const File file(std::fopen(beside.c_str(), "wb"));
    TESSERA_CHECK(file != nullptr, "{}", std::strerror(errno));
    WriteOpened(file.get(), content);
  } catch (const std::exception& error) {
    std::remove(beside.c_str());
    TESSERA_FAIL("{}: cannot be written: {}", path, error.what());
  }
  TESSERA_CHECK(std::rename(beside.c_str(), path.c_str()) == 0, "{}: cannot be renamed to {}: {}",
                beside, path, std::strerror(errno));
}

}  // namespace tessera
