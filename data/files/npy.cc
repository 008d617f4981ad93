#include "data/files/npy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/files/mapped_file.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kWrittenHeader = 128;  // bytes before the elements; there is room for any shape

constexpr std::pair<DType, std::string_view> kTypes[] = {
    {DType::kF32, "<f4"}, {DType::kF64, "<f8"}, {DType::kI32, "<i4"}, {DType::kI64, "<i8"},
    {DType::kI16, "<i2"}, {DType::kI8, "|i1"},  {DType::kU8, "|u1"},  {DType::kBool, "|b1"}};

// Reads a Python dictionary of the kind that numpy writes.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  // Steps over `text` and blanks round it; false if something else comes.
  bool Take(std::string_view text) {
    SkipBlanks();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    SkipBlanks();
    return true;
  }
  void Expect(std::string_view text) {
    if (!Take(text))
      TESSERA_FAIL("expected '{}' in the header, got '{}'", text, rest_.substr(0, 20));
  }
  std::string_view Quoted() {
    Expect("'");
    const size_t end = rest_.find('\'');
    TESSERA_CHECK_NE(end, std::string_view::npos, "a quote in the header does not end");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  int64_t Number() {
    int64_t number = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    TESSERA_CHECK(error == std::errc() && number >= 0, "expected a length in the header, got '{}'",
                  rest_.substr(0, 20));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    SkipBlanks();
    return number;
  }

 private:
  void SkipBlanks() {
    const size_t blanks = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(std::min(blanks, rest_.size()));
  }
  std::string_view rest_;
};

DType ParseType(std::string_view descr) {
  for (const auto& [dtype, name] : kTypes)
    if (name == descr) return dtype;
  TESSERA_FAIL(
      "expected elements <f4, <f8, <i4, <i8, <i2, |i1, |u1 or |b1, of which ids are <i4 or <i8 "
      "(numpy's astype makes one of the other), got '{}'",
      descr);
}

Shape ParseShape(HeaderText& text) {
  std::vector<int64_t> dims;
  text.Expect("(");
  while (!text.Take(")")) {
    TESSERA_CHECK_LT(dims.size(), static_cast<size_t>(Shape::kMaxRank), "dimensions");
    dims.push_back(text.Number());
    if (!text.Take(",")) {
      text.Expect(")");
      break;
    }
  }
  return Shape(std::span<const int64_t>(dims));
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

// Throws for a product that no file has.
int64_t DataBytes(const NpyHeader& header) {
  int64_t bytes = SizeOf(header.dtype);
  for (const int64_t dim : header.shape.dims())
    TESSERA_CHECK(!__builtin_mul_overflow(bytes, dim, &bytes), "shape {}", header.shape);
  return bytes;
}

}  // namespace

NpyHeader ParseNpyHeader(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with(kMagic)) TESSERA_FAIL("it is no npy file");
  const int version = bytes[6];
  TESSERA_CHECK(version >= 1 && version <= 3, "expected npy version 1 to 3, got {}", version);
  const size_t digits = version == 1 ? 2 : 4, begin = 8 + digits;
  const size_t length = LittleEndian(bytes.substr(8, digits));
  TESSERA_CHECK_LE(length, bytes.size() - begin, "length of the header");
  NpyHeader header;
  header.begin = static_cast<int64_t>(begin + length);
  HeaderText text(bytes.substr(begin, length));
  text.Expect("{");
  while (!text.Take("}")) {
    const std::string_view key = text.Quoted();
    text.Expect(":");
    if (key == "descr")
      header.dtype = ParseType(text.Quoted());
    else if (key == "fortran_order" && text.Take("True"))
      TESSERA_FAIL(
          "the elements lie column by column (fortran_order): save them as "
          "numpy.ascontiguousarray has them");
    else if (key == "fortran_order")
      text.Expect("False");
    else if (key == "shape")
      header.shape = ParseShape(text);
    else
      TESSERA_FAIL("unknown key '{}' in the header", key);
    text.Take(",");
  }
  return header;
}

Tensor NpyElements(std::string_view bytes, std::shared_ptr<void> owner) {
  const NpyHeader header = ParseNpyHeader(bytes.substr(0, 1 << 16));
  TESSERA_CHECK_EQ(std::ssize(bytes) - header.begin, DataBytes(header), "bytes of {} of {}",
                   header.shape, header.dtype);
  return Tensor::Borrow(const_cast<char*>(bytes.data()) + header.begin, header.shape, header.dtype,
                        std::move(owner));
}

Tensor MapNpy(const std::string& path) {
  const MappedFile file(path);
  try {
    return NpyElements({file.data(), static_cast<size_t>(file.bytes())}, file.owner());
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
}

NpyWriter::NpyWriter(const std::string& path, DType dtype, int64_t columns)
    : file_(path), dtype_(dtype), columns_(columns) {
  WriteHeader();
}

void NpyWriter::WriteHeader() {
  std::string_view descr;
  for (const auto& [dtype, name] : kTypes)
    if (dtype == dtype_) descr = name;
  std::string header(kMagic);
  constexpr size_t kBefore = 10;
  header += {'\1', '\0', static_cast<char>(kWrittenHeader - kBefore), '\0'};
  header += Format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", descr, rows_,
                   columns_);
  header.resize(kWrittenHeader - 1, ' ');
  header += '\n';
  file_.Write(header.data(), std::ssize(header));
}

void NpyWriter::Append(const void* row) {
  file_.Write(row, columns_ * SizeOf(dtype_));
  ++rows_;
}

void NpyWriter::Prepare() {
  file_.Rewind();
  WriteHeader();
  file_.Sync();
}

}  // namespace tessera
