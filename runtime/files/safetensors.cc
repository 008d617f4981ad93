#include "runtime/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "runtime/base/checksums.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/disk_space.h"
#include "runtime/files/regular_file.h"
#include "runtime/files/safetensors_dtype.h"
#include "runtime/files/steady_read.h"
#include "runtime/json/json_fields.h"
#include "runtime/json/json_reader.h"
#include "runtime/staging.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

using internal::DTypeNamed;
using internal::Json;
using internal::NameOf;

Json ParseHeader(const std::string& text) {
  try {
    return internal::ReadJsonText(text);
  } catch (const Error& error) {
    throw Error(Format("the header is not a JSON object that can be read: {}", error.what()));
  }
}

constexpr char kMetadata[] = "__metadata__";
// The key of the header's checksum. It is that of the header without this entry, as Json::dump()
// writes it, and so covers the metadata, the tensors' shapes and their checksum. Files of other
// programs, and of versions without this checksum, lack it.
constexpr char kHeaderChecksum[] = "header_crc32";

// Checks the checksum, and removes its entry: the header goes on without it.
void CheckHeader(Json& header) {
  const auto metadata = header.find(kMetadata);
  if (metadata == header.end() || !metadata->is_object()) return;
  const auto found = metadata->find(kHeaderChecksum);
  if (found == metadata->end()) return;
  Json said = std::move(*found);
  const internal::Dismantled guard(said);
  metadata->erase(found);
  const std::string computed = Crc32TextOf(header.dump());
  TESSERA_CHECK(internal::IsText(said, computed),
                "the header was changed, or is corrupt: it has the checksum {}, and its metadata "
                "'{}' says {}",
                computed, kHeaderChecksum, said.dump());
}

SafetensorsEntry EntryOf(const Json& value, int64_t data_begin) {
  TESSERA_CHECK(value.is_object(), "expected an object {{…}}, got {}", value.type_name());
  internal::JsonObject fields(value, "");
  std::vector<int64_t> dims;
  std::string dtype;
  fields.Required("shape", dims);
  fields.Required("dtype", dtype);
  const auto offsets = internal::RequiredPair<int64_t>(fields, "data_offsets", "[begin, end]");
  SafetensorsEntry entry{DTypeNamed(dtype), Shape(std::span(dims)), data_begin};
  int64_t bytes = SizeOf(entry.dtype);
  for (const int64_t d : dims)
    TESSERA_CHECK(d >= 0 && !__builtin_mul_overflow(bytes, d, &bytes), "shape {}", entry.shape);
  TESSERA_CHECK(0 <= offsets[0] && offsets[0] <= offsets[1] && offsets[1] - offsets[0] == bytes,
                "data_offsets {} to {}, but shape {} of {} takes {} bytes", offsets[0], offsets[1],
                entry.shape, entry.dtype, bytes);
  TESSERA_CHECK(!__builtin_add_overflow(data_begin, offsets[0], &entry.begin), "data_offsets {}",
                offsets[0]);
  return entry;
}

SafetensorsEntry ParseEntry(const std::string& name, const Json& value, int64_t data_begin) {
  try {
    return EntryOf(value, data_begin);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    TESSERA_FAIL("header, tensor '{}': {}", name, error.what());
  }
}

// Throws unless the entries fill [begin, end) without gap or overlap.
void CheckFilled(const std::map<std::string, SafetensorsEntry>& entries, int64_t begin,
                 int64_t end) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> in_order;
  for (const auto& entry : entries) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.nbytes()) <
           std::pair(b->second.begin, b->second.nbytes());
  });
  int64_t at = begin;
  for (const auto* entry : in_order) {
    TESSERA_CHECK_EQ(entry->second.begin, at,
                     "header, tensor '{}': its bytes do not follow the one before", entry->first);
    at += entry->second.nbytes();
  }
  TESSERA_CHECK(end == at, "the header names {} bytes of tensors, the file has {}: {}", at - begin,
                end - begin, end < at ? "it is cut off" : "it has more than its tensors");
}

void ReadExactly(std::FILE* file, void* out, int64_t bytes) {
  const size_t count = ReadSteadily(file, out, static_cast<size_t>(bytes));
  if (count != static_cast<size_t>(bytes))
    throw Error(Format("it ends at byte {}, {} bytes too early: it was cut while it was read",
                       ftello(file), bytes - static_cast<int64_t>(count)));
}

int64_t BytesOf(std::FILE* file) {
  TESSERA_CHECK(fseeko(file, 0, SEEK_END) == 0, "{}", std::strerror(errno));
  const off_t bytes = ftello(file);
  TESSERA_CHECK(bytes >= 0 && fseeko(file, 0, SEEK_SET) == 0, "{}", std::strerror(errno));
  return bytes;
}

// Calls fn; an error names the file.
template <typename Fn>
void NamingFile(const std::string& path, Fn&& fn) {
  try {
    fn();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    TESSERA_FAIL("{}: {}", path, error.what());
  }
}

int64_t BytesOf(const StreamedTensor& tensor) {
  return tensor.shape.numel() * SizeOf(tensor.dtype);
}

// Throws Error that shows the entry with a name or text that is not UTF-8.
std::string TextOf(const Json& header) {
  try {
    return header.dump();
  } catch (const Json::type_error&) {
    for (const auto& [name, entry] : header.items()) {
      const Json one = {{name, entry}};
      const std::string shown = one.dump(-1, ' ', false, Json::error_handler_t::replace);
      if (shown != one.dump(-1, ' ', false, Json::error_handler_t::ignore))
        throw Error(Format("names and metadata must be UTF-8, got {}", shown));
    }
    throw;
  }
}

// A header of at least `width` bytes, filled with blanks; `sealed`: with its own checksum.
std::string Header(const StreamedSafetensors& content, size_t width, bool sealed) {
  nlohmann::json header = nlohmann::json::object();  // sorted: finds a name fast
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  int64_t at = 0;
  const auto add = [&](const std::string& name, DType dtype, const Shape& shape) {
    const int64_t end = at + shape.numel() * SizeOf(dtype);
    if (name == kMetadata)
      throw Error(Format("a tensor is named '{}', which is the name of the metadata", name));
    TESSERA_CHECK(!header.contains(name), "tensor '{}' is there twice", name);
    header[name] = {{"dtype", NameOf(dtype)},
                    {"shape", std::vector<int64_t>(shape.dims().begin(), shape.dims().end())},
                    {"data_offsets", {at, end}}};
    at = end;
  };
  for (const auto& [name, tensor] : content.tensors) {
    add(name, tensor.dtype, tensor.shape);
    if (tensor.padding > 0) add(name + ".padding", DType::kU8, {tensor.padding});
  }
  if (sealed) header[kMetadata][kHeaderChecksum] = Crc32TextOf(TextOf(header));
  std::string text = TextOf(header);
  // Elements begin at a multiple of 64, a cache line: a file may be used where it is mapped.
  text.resize(std::max(width, (8 + text.size() + 63) / 64 * 64 - 8), ' ');
  return text;
}

void Write(std::FILE* file, const void* data, int64_t bytes) {
  const auto count = static_cast<size_t>(bytes);
  TESSERA_CHECK(count == 0 || std::fwrite(data, 1, count, file) == count, "{}",
                std::strerror(errno));
}

void WriteHeader(std::FILE* file, const std::string& header) {
  const uint64_t bytes = header.size();
  Write(file, &bytes, sizeof bytes);
  Write(file, header.data(), static_cast<int64_t>(header.size()));
}

// The header with the longest number in place of the checksum, which is known only after the
// elements.
std::string FirstHeader(StreamedSafetensors content, const SafetensorsChecksum* checksum) {
  if (checksum != nullptr) content.metadata[checksum->key] = "4294967295";
  return Header(content, 0, checksum != nullptr);
}

// With a checksum, the header is written again after the elements, in the room of the first one.
void WriteOpened(std::FILE* file, StreamedSafetensors content,
                 const SafetensorsChecksum* checksum) {
  const std::string header = FirstHeader(content, checksum);
  WriteHeader(file, header);
  uint32_t sum = 0;
  for (const auto& [name, tensor] : content.tensors) {
    int64_t made = 0;
    const auto write = [&](const void* bytes, int64_t count) {
      if (checksum != nullptr) sum = checksum->update(sum, bytes, count);
      Write(file, bytes, count);
      made += count;
    };
    tensor.make(write);
    TESSERA_CHECK_EQ(made, BytesOf(tensor), "tensor '{}': bytes made", name);
    if (tensor.padding == 0) continue;
    const std::string zeros(static_cast<size_t>(tensor.padding), '\0');
    write(zeros.data(), tensor.padding);
  }
  if (checksum != nullptr) {
    content.metadata[checksum->key] = std::to_string(sum);
    TESSERA_CHECK(fseeko(file, 0, SEEK_SET) == 0, "{}", std::strerror(errno));
    WriteHeader(file, Header(content, header.size(), /*sealed=*/true));
  }
  TESSERA_CHECK(std::fflush(file) == 0, "{}", std::strerror(errno));
}

std::FILE* OpenPath(const std::string& path) {
  return fdopen(OpenRegularFile(path).descriptor, "rb");
}

// A stream over no bytes is an error by itself.
std::FILE* OpenBytes(std::string_view bytes, const std::string& name) {
  TESSERA_CHECK(!bytes.empty(), "{}: it is empty", name);
  return fmemopen(const_cast<char*>(bytes.data()), bytes.size(), "rb");
}

StreamedSafetensors AllStreamed(Context& ctx, const std::string& path, const Safetensors& content) {
  StreamedSafetensors streamed{.tensors = {}, .metadata = content.metadata};
  for (const auto& [name, tensor] : content.tensors) {
    if (!tensor.defined())
      throw Error(Format("{}: cannot be written: tensor '{}' is undefined", path, name));
    TESSERA_CHECK(tensor.is_contiguous(), "{}: cannot be written: tensor '{}' is not contiguous",
                  path, name);
    streamed.tensors.emplace(name, Streamed(ctx, tensor));
  }
  return streamed;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : SafetensorsFile(path, OpenPath(path)) {}

SafetensorsFile::SafetensorsFile(std::string_view bytes, const std::string& name)
    : SafetensorsFile(name, OpenBytes(bytes, name)) {}

SafetensorsFile::SafetensorsFile(const std::string& path, std::FILE* file)
    : path_(path), file_(file) {
  TESSERA_CHECK(file_ != nullptr, "{}: cannot be read: {}", path, std::strerror(errno));
  NamingFile(path, [&] { ReadHeader(); });
}

void SafetensorsFile::ReadHeader() {
  const int64_t file_bytes = BytesOf(file_.get());
  if (file_bytes < 8)
    throw Error(
        Format("it is no safetensors file, or it was cut short: it has {} bytes", file_bytes));
  uint64_t header_bytes = 0;
  ReadExactly(file_.get(), &header_bytes, sizeof header_bytes);
  if (header_bytes > static_cast<uint64_t>(file_bytes - 8))
    throw Error(
        Format("it is no safetensors file, or it was cut short: its first 8 bytes speak of a "
               "header of {} bytes, but the file has {}",
               header_bytes, file_bytes));
  std::string text(header_bytes, '\0');
  ReadExactly(file_.get(), text.data(), static_cast<int64_t>(text.size()));
  const int64_t data_begin = 8 + static_cast<int64_t>(header_bytes);
  Json header = ParseHeader(text);
  const internal::Dismantled guard(header);
  TESSERA_CHECK(header.is_object(), "the header is not a JSON object");
  CheckHeader(header);
  for (const auto& [name, fields] : header.items()) {
    if (name != kMetadata) {
      entries_.emplace(name, ParseEntry(name, fields, data_begin));
      continue;
    }
    TESSERA_CHECK(fields.is_object(), "header, __metadata__: expected an object of strings");
    for (const auto& [key, value] : fields.items()) {
      TESSERA_CHECK(value.is_string(), "header, __metadata__: '{}' is not a string", key);
      metadata_[key] = value.get<std::string>();
    }
  }
  CheckFilled(entries_, data_begin, file_bytes);
}

void SafetensorsFile::Seek(int64_t at) const {
  TESSERA_CHECK(fseeko(file_.get(), at, SEEK_SET) == 0, "{}", std::strerror(errno));
}

void SafetensorsFile::Read(Context& ctx, const SafetensorsEntry& entry,
                           const Tensor& tensor) const {
  TESSERA_CHECK_EQ(tensor.dtype(), entry.dtype, "{}: a tensor to read into", path_);
  TESSERA_CHECK_EQ(tensor.shape(), entry.shape, "{}: a tensor to read into", path_);
  NamingFile(path_, [&] {
    Seek(entry.begin);
    WritePieces(ctx, tensor,
                [&](void* bytes, int64_t count) { ReadExactly(file_.get(), bytes, count); });
  });
}

Tensor SafetensorsFile::Read(Context& ctx, const SafetensorsEntry& entry) const {
  const Tensor tensor = Tensor::Empty(ctx, entry.shape, entry.dtype);
  Read(ctx, entry, tensor);
  return tensor;
}

void SafetensorsFile::ReadBytes(const SafetensorsEntry& entry, int64_t offset, int64_t count,
                                void* out) const {
  NamingFile(path_, [&] {
    TESSERA_CHECK(offset >= 0 && count >= 0 && count <= entry.nbytes() - offset,
                  "{} bytes from {} of {}", count, offset, entry.nbytes());
    Seek(entry.begin + offset);
    ReadExactly(file_.get(), out, count);
  });
}

void SafetensorsFile::Visit(const SafetensorsEntry& entry,
                            const std::function<void(const void*, int64_t)>& fn) const {
  NamingFile(path_, [&] {
    Seek(entry.begin);
    std::vector<char> piece(static_cast<size_t>(std::min(entry.nbytes(), kPieceBytes)));
    for (int64_t left = entry.nbytes(); left > 0;) {
      const int64_t count = std::min(left, kPieceBytes);
      ReadExactly(file_.get(), piece.data(), count);
      fn(piece.data(), count);
      left -= count;
    }
  });
}

Safetensors ReadSafetensors(Context& ctx, const std::string& path) {
  const SafetensorsFile file(path);
  Safetensors content{.tensors = {}, .metadata = file.metadata()};
  for (const auto& [name, entry] : file.entries())
    content.tensors.emplace(name, file.Read(ctx, entry));
  return content;
}

StreamedTensor Streamed(Context& ctx, const Tensor& tensor) {
  if (!tensor.defined()) throw Error("Streamed: the tensor is undefined");
  TESSERA_CHECK(tensor.is_contiguous(), "a tensor {} that is not contiguous", tensor.shape());
  return {tensor.dtype(), tensor.shape(),
          [&ctx, tensor](const StreamedTensor::Sink& sink) { ReadPieces(ctx, tensor, sink); }};
}

double BytesOfFile(const StreamedSafetensors& content, const SafetensorsChecksum* checksum) {
  double sum = sizeof(uint64_t) + static_cast<double>(FirstHeader(content, checksum).size());
  for (const auto& [name, tensor] : content.tensors)
    sum += static_cast<double>(BytesOf(tensor)) + static_cast<double>(tensor.padding);
  return sum;
}

void WriteSafetensors(const std::string& path, const StreamedSafetensors& content,
                      const SafetensorsChecksum* checksum) {
  AtomicFile file(path);
  try {
    if (!IsStream(path)) CheckFileFits(WrittenPath(path), BytesOfFile(content, checksum));
    WriteOpened(file.stream(), content, checksum);
  } catch (const std::exception& error) {
    TESSERA_FAIL("{}: cannot be written: {}", path, error.what());
  }
  file.Commit();
}

void WriteSafetensors(Context& ctx, const std::string& path, const Safetensors& content,
                      const SafetensorsChecksum* checksum) {
  WriteSafetensors(path, AllStreamed(ctx, path, content), checksum);
}

std::string SafetensorsBytes(Context& ctx, const Safetensors& content) {
  struct Memory {
    char* bytes = nullptr;  // there when the file is closed, also by an exception
    size_t count = 0;
    ~Memory() { std::free(bytes); }
  } memory;
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        open_memstream(&memory.bytes, &memory.count), std::fclose);
    TESSERA_CHECK(file != nullptr, "safetensors: {}", std::strerror(errno));
    WriteOpened(file.get(), AllStreamed(ctx, "safetensors", content), nullptr);
  }
  return {memory.bytes, memory.count};
}

}  // namespace tessera
