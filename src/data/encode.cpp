// Parts gather into jobs of a quarter of a megabyte, so that many tiny documents cost no more than one large one; a batch of jobs is
// encoded by all threads and leaves in order.
#include "data/encode.h"

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/host.h"

namespace athanor::data {

namespace {

constexpr size_t kJobBytes = 256 << 10;
constexpr size_t kBatchBytes = 4 << 20;  // of text that is held at once; beside it lie its tokens, about as large

struct Ending {
  size_t tokens = 0;  // of the job so far
  size_t input = 0;
};

struct Job {
  std::vector<TextPart> parts;
  size_t bytes = 0;
  std::vector<uint32_t> tokens;
  std::vector<Ending> endings;

  void encode(const Tokenizer& tokenizer, uint32_t end_of_text) {
    for (const TextPart& part : parts) {
      tokenizer.encode_to(part.text, tokens);
      if (!part.ends_document) continue;
      tokens.push_back(end_of_text);
      endings.push_back({tokens.size(), part.input});
    }
    parts.clear();
  }

  void give(TokenSink& sink) const {
    size_t begin = 0;
    for (const Ending& ending : endings) {
      sink.append(std::span(tokens).subspan(begin, ending.tokens - begin));
      sink.end_document(ending.input);
      begin = ending.tokens;
    }
    if (begin < tokens.size()) sink.append(std::span(tokens).subspan(begin));
  }
};

std::vector<Job> next_jobs(const TextParts& parts) {
  std::vector<Job> jobs;
  for (size_t bytes = 0; bytes < kBatchBytes;) {
    std::optional<TextPart> part = parts();
    if (!part) break;
    if (jobs.empty() || jobs.back().bytes >= kJobBytes) jobs.emplace_back();
    // an empty text has its weight too: it makes a document
    const size_t weight = part->text.size() + sizeof(TextPart);
    jobs.back().bytes += weight;
    bytes += weight;
    jobs.back().parts.push_back(std::move(*part));
  }
  return jobs;
}

void encode_jobs(std::vector<Job>& jobs, const Tokenizer& tokenizer, int threads) {
  const uint32_t end_of_text = tokenizer.end_of_text();
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads));
  const auto work = [&](int worker) {
    try {
      for (size_t i = next++; i < jobs.size(); i = next++) jobs[i].encode(tokenizer, end_of_text);
    } catch (...) {
      errors[static_cast<size_t>(worker)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int worker = 1; worker < threads && worker < static_cast<int>(jobs.size()); ++worker) {
      workers.emplace_back(work, worker);
    }
    work(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

class MemorySink : public TokenSink {
 public:
  void append(std::span<const uint32_t> tokens) override {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }
  void end_document(size_t) override { offsets_.push_back(tokens_.size()); }

  TokenData take(const Tokenizer& tokenizer) {
    check(!tokens_.empty(), "tokens: there is no text");
    return TokenData(tokens_, std::move(offsets_), tokenizer);
  }

 private:
  std::vector<uint32_t> tokens_;
  std::vector<uint64_t> offsets_{0};
};

class FileSink : public TokenSink {
 public:
  explicit FileSink(TokenFileWriter& writer) : writer_(writer) {}
  void append(std::span<const uint32_t> tokens) override { writer_.append(tokens); }
  void end_document(size_t input) override { writer_.end_document(input); }

 private:
  TokenFileWriter& writer_;
};

}  // namespace

void encode_parts(const TextParts& parts, const Tokenizer& tokenizer, int threads, TokenSink& sink) {
  constexpr int kMostThreads = 1024;
  check(threads >= 0 && threads <= kMostThreads, "data: --threads is {}; it must lie between 0 (all) and {}", threads,
        kMostThreads);
  const int workers = threads > 0 ? threads : available_threads();
  for (;;) {
    std::vector<Job> jobs = next_jobs(parts);
    if (jobs.empty()) return;
    encode_jobs(jobs, tokenizer, workers);
    for (const Job& job : jobs) job.give(sink);
  }
}

TokenData encode_documents(const TextParts& parts, const Tokenizer& tokenizer, int threads) {
  MemorySink sink;
  encode_parts(parts, tokenizer, threads, sink);
  return sink.take(tokenizer);
}

TokenData encode_documents(std::span<const std::string> texts, const Tokenizer& tokenizer, int threads) {
  const TextParts parts = [texts, next = size_t{0}]() mutable -> std::optional<TextPart> {
    if (next == texts.size()) return std::nullopt;
    return TextPart{texts[next++], true, 0};
  };
  return encode_documents(parts, tokenizer, threads);
}

EncodedTexts encode_to_file(const TextFiles& files, const TextOptions& options, const Tokenizer& tokenizer, int threads,
                            const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const TextInput& input : files.inputs) names.push_back(input.name);
  TextReader reader(files, options);
  TokenFileWriter writer(path, tokenizer, names);
  FileSink sink(writer);
  encode_parts([&reader] { return reader.next(); }, tokenizer, threads, sink);
  check(writer.num_tokens() > 0,
        "text: nothing usable in {} file{}{}: every text in them is empty; pass files with text", files.paths.size(),
        files.paths.size() == 1 ? "" : "s", names.empty() ? "" : " of " + names.front());
  writer.commit();
  return {reader.text_bytes(), reader.empty_documents()};
}

}  // namespace athanor::data
