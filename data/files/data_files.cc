#include "data/files/data_files.h"

#include "data/files/npy_rows.h"
#include "data/files/row_folder.h"

namespace tessera {
namespace {

StoredParts MapFolders(const std::vector<std::string>& folders) {
  StoredParts rows = MapRowFolder(folders.front());
  if (folders.size() == 1) return rows;
  std::vector<StoredRowsPart> parts;
  for (const std::string& folder : folders) {
    const StoredParts more = MapRowFolder(folder);
    if (more.id_columns() != rows.id_columns())
      throw Error(Format("{}: it has other features than {}", folder, folders.front()));
    parts.insert(parts.end(), more.parts().begin(), more.parts().end());
  }
  return StoredParts(std::move(parts), rows.id_columns());
}

}  // namespace

std::string ToString(FileLayout layout) {
  switch (layout) {
    case FileLayout::kText:
      return "text";
    case FileLayout::kNpy:
      return "npy";
    case FileLayout::kFolder:
      return "folder";
  }
  TESSERA_FAIL("layout {}", static_cast<int>(layout));
}

FileLayout LayoutOfFile(const std::string& path) {
  if (path.ends_with(".parquet"))
    throw Error(
        Format("{}: Parquet is not read: this library has no reader of it; give text (.tsv, "
               ".tsv.gz) or npy files",
               path));
  if (IsRowFolder(path)) return FileLayout::kFolder;
  return FindNpyDay(path) ? FileLayout::kNpy : FileLayout::kText;
}

FileLayout LayoutOfFiles(const std::vector<std::string>& paths) {
  const FileLayout layout = LayoutOfFile(paths.front());
  for (const std::string& path : paths)
    if (LayoutOfFile(path) != layout)
      throw Error(Format("{} is {}, but {} is {}: give data of one layout", paths.front(), layout,
                         path, LayoutOfFile(path)));
  return layout;
}

bool AreRowFolders(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (IsRowFolder(path) != IsRowFolder(paths.front()))
      throw Error(Format("{} is {} of rows, but {} is {}: give data of one layout", paths.front(),
                         IsRowFolder(paths.front()) ? "a folder" : "no folder", path,
                         IsRowFolder(path) ? "one" : "none"));
  return !paths.empty() && IsRowFolder(paths.front());
}

StoredParts MapStoredFiles(const std::vector<std::string>& paths) {
  if (LayoutOfFiles(paths) == FileLayout::kFolder) return MapFolders(paths);
  std::vector<NpyDay> days;
  for (const std::string& path : paths) days.push_back(*FindNpyDay(path));
  return MapNpyDays(days);
}

}  // namespace tessera
