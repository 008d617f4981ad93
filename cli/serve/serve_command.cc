// tessera serve: serves model directories over HTTP.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/memory_limit_flag.h"
#include "cli/serve/served_models.h"
#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "runtime/base/start_threads.h"
#include "serve/export/model_memory.h"
#include "serve/http/http_server.h"

namespace tessera::cli {
namespace {

constexpr char kFooter[] =
    "\n"
    "Example, with a model of examples/planted.json (its inputs: GET /v2/models/model):\n"
    "  tessera serve model --port 8000\n"
    "  curl localhost:8000/v2/models/model/infer --json '{\"inputs\": [\n"
    "    {\"name\": \"dense\", \"datatype\": \"FP32\", \"shape\": [1, 13], \"data\": "
    "[0,0,0,0,0,0,0,0,0,0,0,0,0]}'\"$(\n"
    "    for i in $(seq 0 25); do echo ', {\"name\": \"cat_'$i'\", \"datatype\": \"INT64\", "
    "\"shape\": [1], \"data\": [7]}'; done)\"']}'\n"
    "\n"
    "Here an example has one id for each feature. Shape [1, L] brings L ids, and NAME.lengths, "
    "INT64 [B], is the number of ids of NAME, [N], in each example. NAME.weights, FP32, brings a "
    "weight for each id, if the model was trained with weights.\n"
    "\n"
    "Unknown ids are answered for; \"parameters\": {\"strict\": true} beside \"inputs\", or the "
    "query "
    "?strict=true, refuses a request with an id out of range, or with a word outside a "
    "vocabulary.\n"
    "\n"
    "Routes (the Open Inference Protocol, KServe v2; bodies are JSON, JSON with Triton's binary "
    "tensors, or safetensors with the Content-Type application/x-safetensors, as they are or "
    "encoded as gzip or deflate; answers of 1 KiB or more "
    "are encoded as gzip where Accept-Encoding says so):\n"
    "  GET  /v2  /v2/models/NAME                       what the server and the model are\n"
    "  GET  /v2/models/NAME/config  /v2/models/NAME/stats  /v2/models/stats  /v2/repository/index\n"
    "                                                  as Triton's (the index by POST, too)\n"
    "  GET  /v2/health/live  /v2/health/ready  /v2/models/NAME/ready\n"
    "  POST /v2/models/NAME/infer                      scores; /v2/models/NAME/versions/V/infer "
    "of version V alone\n"
    "  POST /v2/models/NAME/infer_rows                 the same of raw rows: a JSON object a line, "
    "with the columns of the training's data as keys\n"
    "  POST /v2/repository/models/NAME/load            with --admin: takes up what the directory "
    "holds; {\"parameters\": {\"new_inputs\": true}} allows other inputs\n"
    "  POST /v2/repository/models/NAME/deltas          with --admin: takes the deltas that are "
    "there, and says how many and which version\n"
    "  GET  /metrics                                   for Prometheus\n"
    "Statuses; an error's body is {\"error\": \"…\"}:\n"
    "  200 answered; 400 the request makes no sense; 403 load or deltas without --admin; 404 no "
    "such path, model or version; 405 another method (Allow says which); 408 it came too slowly; "
    "413 its body is too large, as it comes or decoded; 415 a content type or a Content-Encoding "
    "that is not taken; 417 its Expect is not 100-continue; 431 its head is too large; 500 scores "
    "are not finite, or the model's files were cut; 503 too many requests or connections, or no "
    "memory: try again (Retry-After says when), or a model is not ready, as its files were cut; "
    "504 it waited longer than --deadline\n"
    "\n"
    "SIGHUP takes up the model that the directory then holds. Deltas of tessera export --delta "
    "are taken as they come into it, and so are versions that come into a folder of versions or "
    "leave it (tessera quantize, tessera rollback); a version is served when all of it is loaded. "
    "Every answer is of one version, which its header "
    "Tessera-Model-Version names (and Tessera-Model-Digest, which differs if a number was used "
    "twice). A delta or version that is damaged or missing is named on standard error and tried "
    "again; the version before it is served. SIGTERM or Ctrl-C answers the requests that have "
    "begun, for --drain-seconds at most, and ends. SIGUSR1 opens the access log anew, after it was "
    "renamed.\n"
    "Tables are read on the CPU, by all workers, where the file is mapped; a model over several "
    "devices is for programs (sharding/quantized/).\n"
    "There is no TLS and no authentication: it listens on localhost unless told otherwise.\n";

struct Flags {
  ModelFlags served;
  std::string memory_limit, access_log;
  serve::HttpServerOptions http;
  int threads = 1, warm_up = 5;
  bool new_inputs = false;
  int64_t max_body_mib = 16, batch_wait_us = 0, deadline_ms = 500, watch_ms = 1000;
  int64_t drain_s = 5, header_s = 10, body_s = 60, write_s = 30, idle_s = 60, max_header_kib = 16;
};

// Blocks the signals in this thread and in all that it starts, so that one thread can wait for
// them.
sigset_t HoldSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The next signal, or 0 when `pause` has passed.
int NextSignal(const sigset_t& signals, std::chrono::milliseconds pause) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(pause);
  const std::chrono::nanoseconds rest = pause - seconds;
  const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
  return std::max(sigtimedwait(&signals, nullptr, &time), 0);
}

// Returns when the server is to stop.
void FollowSignals(const sigset_t& signals, ServedModels& models, serve::AccessLog* log,
                   std::chrono::milliseconds watch) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLookAtFiles{1000};
  const auto pause = watch.count() > 0 ? std::min(watch, kLookAtFiles) : kLookAtFiles;
  for (auto next = Clock::now() + watch;;) {
    const int signal = NextSignal(signals, pause);
    models.SayCutFiles();
    if (signal == SIGINT || signal == SIGTERM) return;
    if (signal == SIGUSR1) {
      if (log != nullptr) log->Reopen();
    } else if (signal == SIGHUP) {
      models.Reload();
    } else if (watch.count() > 0 && Clock::now() >= next) {
      models.Follow();
      next = Clock::now() + watch;
    }
  }
}

constexpr int kMaxThreads = 1024;  // of all batches that are computed at once

void CheckThreads(const Flags& flags) {
  const int64_t all = int64_t{flags.http.queue.workers} * flags.threads;
  if (all > kMaxThreads)
    throw Error(Format("--workers {} with --threads {} takes {} threads; at most {} are started",
                       flags.http.queue.workers, flags.threads, all, kMaxThreads));
}

// The oldest request of a batch waits as long as the batch does.
void CheckWaits(const Flags& flags) {
  if (flags.batch_wait_us >= 1000 * flags.deadline_ms)
    throw Error(
        Format("--batch-wait {} beside --deadline {}: a request waits {} ms for its batch, "
               "and would be refused then; expected fewer microseconds than the deadline has",
               flags.batch_wait_us, flags.deadline_ms, flags.batch_wait_us / 1000));
}

// Raises the process' limit of open files to the number of connections: each is an open file.
void AllowFiles(int connections) {
  constexpr rlim_t kOthers = 256;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  if (files.rlim_cur >= wanted) return;
  files.rlim_cur = std::min(wanted, files.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &files);  // with fewer, the next connections wait
}

void SetLimits(const Flags& flags, serve::HttpServerOptions& http) {
  using std::chrono::seconds;
  http.limits.max_body = static_cast<size_t>(flags.max_body_mib) << 20;
  http.limits.max_header = static_cast<size_t>(flags.max_header_kib) << 10;
  http.limits.header_time = seconds(flags.header_s);
  http.limits.body_time = seconds(flags.body_s);
  http.limits.write_time = seconds(flags.write_s);
  http.limits.idle_time = seconds(flags.idle_s);
  http.drain_time = seconds(flags.drain_s);
  http.warm_up = flags.warm_up;
}

serve::PredictorOptions PredictorOptionsOf(const Flags& flags) {
  // A worker computes no more examples together (ServedModel::Predict); a warm-up runs beside them.
  const int workers = flags.http.queue.workers;
  const serve::ServingLoad load{.calls = workers + (flags.warm_up > 0 ? 1 : 0),
                                .examples = serve::ServedModel::kMaxTogether};
  return {
      .threads = flags.threads,
      .bad_deltas = serve::BadDeltas::kServeLastGood,
      .new_inputs = flags.new_inputs,
      .accept =
          [load, limit = flags.memory_limit](const serve::ModelSpec& spec) {
            CheckServingMemory(spec, load, MemoryForMore(limit));
          },
      .warm_up = {
          .requests = flags.warm_up, .max_batch = flags.http.queue.max_batch, .calls = workers}};
}

std::unique_ptr<serve::AccessLog> OpenLog(const std::string& path) {
  if (path == "-") NotesToStandardError();  // not between the lines of the access log
  return path.empty() ? nullptr
                      : std::make_unique<serve::AccessLog>(
                            path, [](const std::string& failure) { NoteError(failure); });
}

// A host as it stands in a URL: an IPv6 address in brackets.
std::string UrlHost(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

int Serve(Flags flags) {
  CheckThreads(flags);
  CheckWaits(flags);
  if (flags.warm_up == 0 && !flags.served.warm_up_files.empty())
    throw Error("--warm-up-file needs a --warm-up above 0: without it, no rows are answered");
  AllowFiles(flags.http.limits.connections);
  SetLimits(flags, flags.http);
  flags.http.queue.max_wait = std::chrono::microseconds(flags.batch_wait_us);
  flags.http.queue.deadline = std::chrono::milliseconds(flags.deadline_ms);
  const sigset_t signals = HoldSignals();
  const auto log = OpenLog(flags.access_log);
  flags.http.access_log = log.get();
  const std::chrono::milliseconds watch(flags.watch_ms);
  ServedModels models(flags.served, PredictorOptionsOf(flags), watch);
  flags.http.took_up = [&](const serve::ModelVersions& model) { models.NoteTaken(model); };
  serve::HttpServer server(models.all(), flags.http);
  const pthread_t main_thread = pthread_self();
  std::thread running = StartThread("thread of the server", [&] {
    server.Run();
    pthread_kill(main_thread, SIGTERM);  // it may have ended by itself
  });
  NoteAlways(Format("serving {}, on http://{}:{}", models.Description(), UrlHost(flags.http.host),
                    server.port()),
             {{"host", flags.http.host}, {"port", server.port()}});
  models.SayFailures();
  FollowSignals(signals, models, log.get(), watch);
  server.Stop();
  running.join();
  Note("stopped");
  return 0;
}

// Says by which flags fewer threads are asked for.
int ServeByFlags(const Flags& flags) try { return Serve(flags); } catch (const ThreadError& error) {
  throw Error(Format("{} by --workers, --threads or --io-threads, or allow more (ulimit -u)",
                     error.what()));
}

void AddQueueFlags(Command command, Flags& f) {
  const auto count = NumbersFrom(int64_t{1}, int64_t{1} << 24);
  command
      .Add("--workers", f.http.queue.workers,
           "Batches that are computed at the same time; default 1")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  command.Add("--threads", f.threads, "Threads of each batch; default 1")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  command.Add("--max-batch", f.http.queue.max_batch, "Most examples of one batch; default 2048")
      .Within(count)
      .Value("N");
  command
      .Add("--batch-wait", f.batch_wait_us,
           "Time that a batch waits for more requests, in microseconds; default 0")
      .Within(NumbersFrom(int64_t{0}, int64_t{10'000'000}))
      .Value("US");
  command
      .Add("--deadline", f.deadline_ms,
           "Refuse a request that has waited this many milliseconds for its batch; default 500")
      .Within(NumbersFrom(int64_t{1}, int64_t{3'600'000}))
      .Value("MS");
  command
      .Add("--max-queued", f.http.queue.max_queued,
           "Refuse a request if this many wait already; default 4096")
      .Within(count)
      .Value("N");
}

void AddSeconds(Command command, const char* flag, int64_t& seconds, const char* help) {
  command.Add(flag, seconds, help).Within(NumbersFrom(int64_t{1}, int64_t{3'600})).Value("S");
}

void AddConnectionFlags(Command command, Flags& f) {
  serve::ConnectionLimits& limits = f.http.limits;
  command
      .Add("--connections", limits.connections,
           "Most connections that are open at the same time; default 1024")
      .Within(NumbersFrom(1, 65536))
      .Value("N");
  command
      .Add("--connections-per-client", limits.connections_per_client,
           "Most connections that are open from one address; default 256. Behind a proxy, give "
           "as many as --connections")
      .Within(NumbersFrom(1, 65536))
      .Value("N");
  command.Add("--io-threads", f.http.io_threads, "Threads that read and write; default 2")
      .Within(NumbersFrom(1, 64))
      .Value("N");
  AddSeconds(command, "--header-seconds", f.header_s,
             "Refuse a request whose head takes longer to come; default 10");
  AddSeconds(command, "--body-seconds", f.body_s,
             "Refuse a request whose body takes longer to come; default 60");
  AddSeconds(command, "--write-seconds", f.write_s,
             "Close a connection whose client takes longer to receive an answer; default 30");
  AddSeconds(command, "--idle-seconds", f.idle_s,
             "Close a connection on which no request begins for this long; default 60");
  AddSeconds(command, "--drain-seconds", f.drain_s,
             "When the server is told to end, give requests that have begun this long; default 5");
  command.Add("--admin", f.http.admin,
              "Answer requests that load the model (…/load) and that take deltas (…/deltas)");
}

void AddVersionFlags(Command command, Flags& f) {
  command
      .Add("--versions", f.served.versions,
           "Serve these of a folder of versions: latest (the default), latest:N (the N newest that "
           "can be loaded) or numbers such as 3,4, of folders or of their deltas; with NAME= those "
           "of "
           "this model. The newest of "
           "them answers requests that name none")
      .OneAtATime()
      .Value("[NAME=]VERSIONS");
  command
      .Add("--canary", f.served.canaries,
           "Let this version, one of --versions, answer so many percent of the requests that name "
           "none; the newest of the others answers the rest")
      .OneAtATime()
      .Value("[NAME=]VERSION:PERCENT");
  command
      .Add("--shadow", f.served.shadows,
           "Let this version, one of --versions, score so many percent of the requests that name "
           "none, too: nobody gets its scores, but /metrics tells how they differ from the answers")
      .OneAtATime()
      .Value("[NAME=]VERSION:PERCENT");
  command
      .Add("--watch", f.watch_ms,
           "Look for deltas and for versions that came or went every MS milliseconds (default "
           "1000; 0: never)")
      .Within(NumbersFrom(int64_t{0}, int64_t{3'600'000}))
      .Value("MS");
  command.Add("--new-inputs", f.new_inputs,
              "Let SIGHUP and …/load take up a model that reads other inputs than the one "
              "that is served, although requests of its clients are refused from then on");
}

void AddWarmUpFlags(Command command, Flags& f) {
  command
      .Add("--warm-up", f.warm_up,
           "Let each model answer N made-up rows, and a batch of --max-batch of them, before it "
           "answers clients; default 5. /metrics does not count them")
      .Within(NumbersFrom(0, 1000))  // a signal waits for them
      .Value("N");
  command
      .Add("--warm-up-file", f.served.warm_up_files,
           "Take the rows of the warm-up from this file, a JSON object a line as in …/infer_rows: "
           "the first of them, and all as a batch; with NAME= those of this model")
      .OneAtATime()
      .Value("[NAME=]FILE");
}

void AddSizeFlags(Command command, Flags& f) {
  command
      .Add("--max-body", f.max_body_mib,
           "Refuse a request whose body is larger than this; default 16")
      .Within(NumbersFrom(int64_t{1}, int64_t{4096}))
      .Value("MIB");
  command
      .Add("--max-header", f.max_header_kib,
           "Refuse a request whose head is larger than this; default 16")
      .Within(NumbersFrom(int64_t{1}, int64_t{1024}))
      .Value("KIB");
}

}  // namespace

void AddServeCommand(Command app) {
  Command command = app.AddCommand("serve", "Answer requests over HTTP with model directories.");
  const auto f = std::make_shared<Flags>();
  command
      .Add("model", f->served.models,
           "A model directory of tessera quantize, or a folder of versions of one (quantize "
           "--keep); several as NAME=DIR")
      .Required()
      .Value("[NAME=]DIR");
  command.Add("--host", f->http.host, "Listen on this address; default 127.0.0.1").Value("ADDRESS");
  command
      .Add("--port", f->http.port,
           "Listen on this port; 0 takes a free one; default 8000. The line that says what is "
           "served and where is printed with --quiet, too")
      .Within(NumbersFrom(0, 65535))
      .Value("N");
  command
      .Add("--name", f->served.name, "Requests call a model without NAME= by this; default model")
      .Value("NAME");
  AddVersionFlags(command, *f);
  AddWarmUpFlags(command, *f);
  AddSizeFlags(command, *f);
  command
      .Add("--access-log", f->access_log,
           "Append a line of JSON for each answered request to this file; - is standard output, "
           "and what else the server says then goes to standard error")
      .Value("FILE");
  AddConnectionFlags(command, *f);
  AddQueueFlags(command, *f);
  AddMemoryLimitFlag(command, f->memory_limit, " by a model, beside what is there");
  command.Footer(kFooter);
  command.Run([f] { return ServeByFlags(*f); });
}

}  // namespace tessera::cli
