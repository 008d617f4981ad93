#include "data/files/data_identity.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/files/multi_hot_rows.h"
#include "data/files/npy_rows.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/files/files.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHead = 4 << 10, kTail = 64 << 10;

uint64_t HashAt(std::ifstream& file, int64_t offset, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  file.seekg(offset);
  file.read(text.data(), bytes);
  return internal::HashOf(text);
}

PathIdentity OfFile(const fs::path& path) {
  PathIdentity identity{.name = path.filename().string()};
  std::error_code none;  // where it cannot be known, the reading says why
  if (!fs::is_regular_file(path, none)) return identity;
  identity.bytes = static_cast<int64_t>(fs::file_size(path));
  const int64_t head = std::min(identity.bytes, kHead), tail = std::min(identity.bytes, kTail);
  std::ifstream file(path, std::ios::binary);
  identity.head = HashAt(file, 0, head);
  identity.tail = HashAt(file, identity.bytes - tail, tail);
  if (!file) throw Error(Format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  return identity;
}

PathIdentity OfFiles(std::string name, const std::vector<fs::path>& files) {
  PathIdentity all{.name = std::move(name), .is_file = false};
  std::string texts;
  for (const fs::path& path : files) {
    const PathIdentity file = OfFile(path);
    all.bytes += file.bytes;
    texts += Format("{} {} {:x} {:x}\n", file.name, file.bytes, file.head, file.tail);
  }
  all.head = internal::HashOf(texts);
  return all;
}

// A lock, or what is not whole yet.
bool IsPassing(const std::string& name) { return name.starts_with('.') || name.ends_with(".tmp"); }

PathIdentity OfPath(const std::string& given) {
  fs::path path(given);
  if (!path.has_filename()) path = path.parent_path();  // "rows/"
  if (IsFolder(path.string())) {
    std::vector<fs::path> files;
    for (const std::string& name : EntriesOf(path.string()))
      if (fs::is_regular_file(path / name) && !IsPassing(name)) files.push_back(path / name);
    return OfFiles(path.filename().string(), files);
  }
  if (const auto day = FindMultiHotDay(given)) {
    const std::vector<std::string> files = MultiHotFiles(*day);
    return OfFiles(fs::path(*day).filename().string(), {files.begin(), files.end()});
  }
  if (const auto day = FindNpyDay(given))
    return OfFiles(path.filename().string(), {day->dense, day->sparse, day->labels});
  return OfFile(path);
}

}  // namespace

std::string ToString(const PathIdentity& path) {
  return Format("{} ({} bytes, {:08x})", path.name, path.bytes,
                static_cast<uint32_t>(path.head ^ (path.tail >> 32)));
}

DataIdentity IdentityOf(const std::vector<std::string>& paths, const RowRange& rows) {
  DataIdentity identity{.rows = rows, .paths = {}};
  for (const std::string& path : paths) {
    identity.paths.push_back(OfPath(path));
    std::string& name = identity.paths.back().name;
    name = internal::AsUtf8(name);  // a checkpoint keeps it in a document
  }
  return identity;
}

std::string ToText(const DataIdentity& identity) {
  std::string text = Format("rows {} {}\n", identity.rows.first, identity.rows.last);
  for (const PathIdentity& path : identity.paths)
    text += Format("{} {:016x} {:016x} {} {}\n", path.bytes, path.head, path.tail,
                   path.is_file ? "file" : "files", path.name);
  return text;
}

DataIdentity DataIdentityFromText(const std::string& text) {
  std::istringstream lines(text);
  std::string word, line, kind;
  DataIdentity identity;
  if (!(lines >> word >> identity.rows.first >> identity.rows.last) || word != "rows")
    throw Error(Format("what data were read: expected \"rows FIRST LAST\", got '{}'", text));
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    PathIdentity path;
    fields >> path.bytes >> std::hex >> path.head >> path.tail >> kind;
    fields.ignore(1);
    if (!std::getline(fields, path.name))
      throw Error(
          Format("what data were read: expected a path's size, hashes and name, got '{}'", line));
    path.is_file = kind == "file";
    identity.paths.push_back(std::move(path));
  }
  return identity;
}

}  // namespace tessera
