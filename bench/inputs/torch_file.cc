#include "bench/inputs/torch_file.h"

#include <zip.h>

#include <memory>

#include "bench/inputs/pickle.h"
#include "data/files/text_file.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using Kind = PickleValue::Kind;

std::string AllBytes(const std::string& path) {
  TextFile file(path);
  std::string bytes;
  for (size_t size = 1 << 20, read = 1; read > 0; size *= 2) {
    const size_t before = bytes.size();
    bytes.resize(before + size);
    read = file.Read(bytes.data() + before, size);
    bytes.resize(before + read);
  }
  return bytes;
}

// A zip archive in memory.
class Archive {
 public:
  explicit Archive(std::string bytes) : bytes_(std::move(bytes)) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
    zip_.reset(source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr);
    if (!zip_) {
      if (source != nullptr) zip_source_free(source);
      zip_error_fini(&error);
      throw Error("expected a zip archive, as torch.save writes since 1.6");
    }
    zip_error_fini(&error);
  }

  // The bytes of the file whose name ends so.
  std::string Read(const std::string& ending) const {
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip_.get(), 0); ++i) {
      const auto index = static_cast<zip_uint64_t>(i);
      if (!std::string(zip_get_name(zip_.get(), index, 0)).ends_with(ending)) continue;
      zip_stat_t stat;
      zip_stat_index(zip_.get(), index, 0, &stat);
      std::string bytes(stat.size, '\0');
      const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
          zip_fopen_index(zip_.get(), index, 0), zip_fclose);
      if (!file || zip_fread(file.get(), bytes.data(), bytes.size()) !=
                       static_cast<zip_int64_t>(bytes.size()))
        throw Error(Format("{} in the archive is damaged", ending));
      return bytes;
    }
    throw Error(Format("the archive has no {}", ending));
  }

 private:
  std::string bytes_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> zip_{nullptr, zip_discard};
};

[[noreturn]] void ThrowUnexpected() {
  throw Error("expected a tensor, or a tuple or list of tensors");
}

const PickleValue& ItemOf(const PickleValue& value, size_t i, Kind kind) {
  if (i >= value.items.size() || value.items[i].kind != kind) ThrowUnexpected();
  return value.items[i];
}

std::vector<int64_t> NumbersOf(const PickleValue& tuple) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < tuple.items.size(); ++i)
    numbers.push_back(ItemOf(tuple, i, Kind::kNumber).number);
  return numbers;
}

bool IsTensor(const PickleValue& value) {
  return value.kind == Kind::kCall &&
         ItemOf(value, 0, Kind::kGlobal).text == "torch._utils _rebuild_tensor_v2";
}

// Row-major without gaps.
bool IsContiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0; expected *= shape[i])
    if (i >= strides.size() || (shape[i] != 1 && strides[i] != expected)) return false;
  return true;
}

// _rebuild_tensor_v2(storage, offset, shape, strides, …), a storage's id being ("storage", its
// class, key, device, size). Appends nothing for numbers that are not whole.
void AddTensor(const Archive& archive, const PickleValue& call, std::vector<TorchTensor>& tensors) {
  const PickleValue& arguments = ItemOf(call, 1, Kind::kItems);
  const PickleValue& id = ItemOf(ItemOf(arguments, 0, Kind::kPersistent), 0, Kind::kItems);
  const std::string& type = ItemOf(id, 1, Kind::kGlobal).text;
  const bool wide = type == "torch LongStorage";
  if (!wide && type != "torch IntStorage") return;
  TorchTensor tensor{NumbersOf(ItemOf(arguments, 2, Kind::kItems))};
  if (!IsContiguous(tensor.shape, NumbersOf(ItemOf(arguments, 3, Kind::kItems))))
    throw Error("a tensor is a view with gaps; save its contiguous()");
  const std::string bytes = archive.Read("/data/" + ItemOf(id, 2, Kind::kText).text);
  const int64_t first = ItemOf(arguments, 1, Kind::kNumber).number;
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  if (first < 0 || count < 0 || (first + count) * (wide ? 8 : 4) > std::ssize(bytes))
    throw Error("a tensor reaches past its storage");
  const IndexArray numbers = {bytes.data(), wide};
  for (int64_t i = 0; i < count; ++i) tensor.numbers.push_back(numbers[first + i]);
  tensors.push_back(std::move(tensor));
}

std::vector<TorchTensor> TensorsOf(const Archive& archive) {
  const PickleValue root = ParsePickle(archive.Read("/data.pkl"));
  std::vector<TorchTensor> tensors;
  if (IsTensor(root)) {
    AddTensor(archive, root, tensors);
    return tensors;
  }
  if (root.kind != Kind::kItems) ThrowUnexpected();
  for (const PickleValue& item : root.items) {
    if (item.kind == Kind::kNone) continue;
    if (!IsTensor(item)) ThrowUnexpected();
    AddTensor(archive, item, tensors);
  }
  return tensors;
}

}  // namespace

std::vector<TorchTensor> ReadTorchFile(const std::string& path) {
  try {
    return TensorsOf(Archive(AllBytes(path)));
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(text.find(path) == std::string::npos ? path + ": " + text : text);
  }
}

}  // namespace tessera::bench
