// Replays conformance cases:
//
//   bazel run -c opt //tests/conformance:run -- [--device cpu|cuda] PATH…
//
// PATH is a case, a folder of cases (a kind) or a folder of kinds. Prints one line a case, ok, FAIL
// or UNSUPPORTED, and a last line "N passed, N failed, N unsupported"; exits with 0 only if all
// passed (or, with --allow-unsupported, if none failed).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "runtime/flags/flags.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

namespace fs = std::filesystem;

using Kind = std::function<Answer(Context&, const Case&)>;

const std::map<std::string, Kind>& Kinds() {
  static const std::map<std::string, Kind> kinds = {
      {"checkpoint", RunCheckpoint},
      {"data", RunData},
      {"dense", RunDense},
      {"dense_optim", RunDenseOptim},
      {"kjt", RunKjt},
      {"lookup", RunLookup},
      {"metric", RunMetric},
      {"model", RunModel},
      {"plan", RunPlan},
      {"quant", RunQuant},
      {"sharding", RunSharding},
      {"train", RunTrain},
  };
  return kinds;
}

bool IsCase(const fs::path& path) { return path.extension() == ".safetensors"; }

// The cases under a path: the files directly in it, or directly in its folders (deeper ones are
// data of cases).
std::vector<std::string> CasesUnder(const fs::path& path) {
  TESSERA_CHECK(fs::exists(path), "{}: there is no such file or folder", path.string());
  if (fs::is_regular_file(path)) return {path.string()};
  std::vector<std::string> files;
  const auto add = [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file() && IsCase(entry.path())) files.push_back(entry.path().string());
  };
  add(path);
  if (files.empty())
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_directory()) add(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

enum class Outcome { kPassed, kFailed, kUnsupported };

// The answer of a kind, in host memory; its inputs lie where the context works.
Answer AnswerOf(const Kind& kind, Context& ctx, Case c) {
  for (auto& [name, tensor] : c.in) tensor = tensor.To(ctx, ctx.device());
  Answer answer = kind(ctx, c);
  for (auto& [name, tensor] : answer.tensors) tensor = tensor.ToHost();
  return answer;
}

// The outcome of a case; `why` gives the reason if it did not pass.
Outcome Replay(Context& host, Context& ctx, const std::string& path, std::string& why) {
  try {
    const Case c = ReadCase(host, path);
    const auto kind = Kinds().find(c.kind);
    if (kind == Kinds().end()) throw Unsupported("kind " + c.kind);
    const bool expects_error = c.attrs.contains("error") && !c.attrs["error"].is_null();
    try {
      const Answer answer = AnswerOf(kind->second, ctx, c);
      why = expects_error ? "expected an error, got an answer" : FirstDifference(c, answer);
    } catch (const Error& error) {
      if (!expects_error) why = error.what();
    }
    return why.empty() ? Outcome::kPassed : Outcome::kFailed;
  } catch (const Unsupported& missing) {
    why = missing.what();
    return Outcome::kUnsupported;
  } catch (const std::exception& error) {
    why = error.what();
    return Outcome::kFailed;
  }
}

int Main(int argc, char** argv) {
  std::vector<std::string> paths;
  int threads = 2;
  bool allow_unsupported = false, quiet = false;
  std::string device = "cpu";
  internal::ProgramFlags flags(
      "Replays conformance cases and compares the library's answers with those of other systems");
  flags.Add("paths", paths, "cases, kinds or folders of kinds").Required();
  flags.Add("--threads", threads, "threads");
  flags.Add("--device", device, "cpu or cuda");
  flags.Add("--allow-unsupported", allow_unsupported, "exit with 0 if no case failed");
  flags.Add("--quiet", quiet, "print the cases that failed, and the last line, only");
  if (!flags.Parse(argc, argv)) return 0;

  Context host({.threads = threads});
  Context ctx({.device = ParseDevice(device), .threads = threads, .pool = host.pool()});
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");  // set by bazel run
  int counts[3] = {};
  for (const std::string& path : paths) {
    const fs::path full = folder != nullptr ? fs::path(folder) / path : fs::path(path);
    for (const std::string& file : CasesUnder(full)) {
      std::string why;
      const Outcome outcome = Replay(host, ctx, file, why);
      ++counts[static_cast<int>(outcome)];
      const std::string name =
          fs::path(file).parent_path().filename().string() + "/" + fs::path(file).stem().string();
      static constexpr const char* kWords[] = {"ok", "FAIL", "UNSUPPORTED"};
      if (!quiet || outcome == Outcome::kFailed)
        std::printf("%-11s %s%s%s\n", kWords[static_cast<int>(outcome)], name.c_str(),
                    why.empty() ? "" : ": ", why.c_str());
    }
  }
  std::printf("%d passed, %d failed, %d unsupported\n", counts[0], counts[1], counts[2]);
  return counts[1] == 0 && (counts[2] == 0 || allow_unsupported) ? 0 : 1;
}

}  // namespace
}  // namespace tessera::conformance

int main(int argc, char** argv) {
  try {
    return tessera::conformance::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run: %s\n", error.what());
    return 2;
  }
}
