// Text of every kind of file, read a part at a time.
#include "data/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/expect_error.h"
#include "data/encode.h"
#include "data/test_texts.h"

namespace athanor::data {
namespace {

using ::testing::ElementsAre;

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// With the checksum that the zstd program writes too.
std::string zstd(std::string_view text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::vector<std::string> documents_of(const std::vector<std::filesystem::path>& inputs,
                                      const TextOptions& options = {}) {
  TextReader reader(find_text_files(inputs), options);
  std::vector<std::string> documents;
  bool is_new = true;
  while (const std::optional<TextPart> part = reader.next()) {
    if (is_new) documents.emplace_back();
    documents.back() += part->text;
    is_new = part->ends_document;
  }
  EXPECT_TRUE(is_new) << "the last document did not end";
  return documents;
}

/// Text of a few megabytes whose parts have places to cut, and none for a while.
std::string long_text() {
  std::string text;
  while (text.size() < (3 << 20)) text += small_corpus();
  text.insert(1 << 20, std::string(1 << 19, '7'));
  return text;
}

TEST(TextReader, UnpacksGzipAndZstdByTheirContent) {
  const TestFolder folder("read");
  const std::string text = long_text();
  folder.write("a.txt.gz", gzip(text));
  folder.write("b.txt.zst", zstd(text));
  folder.write("c.txt", gzip("two") + gzip(" members") + std::string(100, '\0'));
  folder.write("d.txt", zstd("two") + zstd(" frames"));
  folder.write("e.gz", "plain after all");
  EXPECT_TRUE(documents_of({folder.path()}) ==
              (std::vector<std::string>{text, text, "two members", "two frames", "plain after all"}));
  EXPECT_EQ(find_text_files({folder / "a.txt.gz", folder / "e.gz"}).text_bytes(),
            static_cast<int64_t>(text.size()) + 15);
}

TEST(TextReader, JudgesPackedFilesOfAFolderByWhatIsInThem) {
  const TestFolder folder("read");
  folder.write("picture.gz", gzip(std::string_view("\x89PNG\0\0\0", 7)));
  folder.write("empty.gz", gzip(""));
  folder.write("text.gz", gzip("text"));
  const TextFiles files = find_text_files({folder.path()});
  EXPECT_THAT(files.paths, ElementsAre(folder / "text.gz"));
  EXPECT_EQ(files.skipped_text(), "2 files skipped: 1 binary, 1 empty");
}

TEST(TextReader, RefusesPackedFilesThatAreCutOffOrDamaged) {
  const TestFolder folder("read");
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 50000; ++i) noise += static_cast<char>('a' + (x = x * 1664525 + 1013904223) % 26);
  for (const auto& [name, packed] : {std::pair<std::string, std::string>{"gzip", gzip(noise)}, {"zstd", zstd(noise)}}) {
    EXPECT_ERROR(documents_of({folder.write("cut." + name, packed.substr(0, packed.size() / 2))}),
                 "cut." + name + ": its " + name + " data end early");
    EXPECT_ERROR(documents_of({folder.write("one." + name, packed.substr(0, packed.size() - 1))}), "end early");
    std::string damaged = packed;
    for (size_t i = 100; i < 200; ++i) damaged[i] = static_cast<char>(~damaged[i]);
    EXPECT_ERROR(documents_of({folder.write("damaged." + name, damaged)}), name + " data are damaged");
    EXPECT_ERROR(documents_of({folder.write("more." + name, packed + "more")}), "more." + name);
  }
}

TEST(TextReader, TakesADocumentFromEachLineOfJson) {
  const TestFolder folder("read");
  const std::string lines =
      "{\"text\": \"one\\nline\", \"id\": 1}\r\n\n{\"id\": 2, \"text\": \"\"}\n{\"text\": \"\\u0000 \\ud83d\\ude00 "
      "\xF0\x9F\x98\x80\"}";
  folder.write("a.jsonl", lines);
  folder.write("b.ndjson.gz", gzip("\xEF\xBB\xBF{\"text\": \"packed\"}\n"));
  const TextFiles files = find_text_files({folder.path()});
  TextReader reader(files, {});
  std::vector<std::string> texts;
  while (const std::optional<TextPart> part = reader.next()) texts.push_back(part->text);
  EXPECT_THAT(texts, ElementsAre("one\nline", std::string("\0 😀 😀", 11), "packed"));
  EXPECT_EQ(reader.empty_documents(), 1);
  EXPECT_EQ(reader.text_bytes(), 8 + 11 + 6);
  const auto path = folder.write("c.jsonl", "{\"content\": \"x\"}\n");
  EXPECT_THAT(documents_of({path}, {.text_field = "content"}), ElementsAre("x"));
}

TEST(TextReader, NamesTheLineOfJsonThatIsBad) {
  const TestFolder folder("read");
  const auto refuse = [&](std::string_view second, std::string_view says) {
    const auto path =
        folder.write("bad.jsonl", "{\"text\": \"good\"}\n" + std::string(second) + "\n{\"text\": \"good\"}\n");
    EXPECT_ERROR(documents_of({path}), "bad.jsonl: line 2: " + std::string(says));
  };
  refuse("{\"text\": \"cut", "no JSON at byte");
  refuse("not json", "no JSON at byte");
  refuse("[1, 2]", "no JSON object");
  refuse("{\"text\": 5}", "\"text\" is no text");
  refuse("{\"body\": \"x\", \"id\": 1}", "has no \"text\" but body, id; name the field of the text with --text-field");
  refuse("{}", "has no \"text\" but no key at all");
  refuse("{\"text\": \"\\ud800\"}", "no JSON at byte");
  refuse(std::string(100000, '['), "no JSON at byte");
}

TEST(TextReader, HasTheTextWhateverItsPartsCut) {
  const TestFolder folder("read");
  std::string emoji;  // four bytes each, one behind another: no place to cut, and every block ends inside one
  for (int i = 0; i < 700000; ++i) emoji += "\xF0\x9F\x98\x80";
  for (const std::string& text :
       {long_text(), emoji, "x" + emoji, std::string(3 << 20, '\0'), std::string("\r\n\r\n"), std::string("  ")}) {
    EXPECT_TRUE(documents_of({folder.write("t.txt", text)}) == std::vector<std::string>{text});
    TextReader reader(find_text_files({folder / "t.txt"}), {});
    while (const std::optional<TextPart> part = reader.next()) {
      EXPECT_LE(part->text.size(), (256u << 10) + (1u << 20));
      ASSERT_NE(part->text.empty() ? 0 : static_cast<unsigned char>(part->text[0]) & 0xC0, 0x80)
          << "within a character";
    }
  }
  std::string utf16 = "\xFF\xFE";
  for (int i = 0; i < 300000; ++i) utf16 += std::string_view("\x3D\xD8\x4D\xDC\x61\x00", 6);
  EXPECT_EQ(documents_of({folder.write("wide.txt", utf16)}).front().size(), 300000u * 5);
  EXPECT_ERROR(documents_of({folder.write("bad.txt", emoji.substr(0, 1000002))}), "offset 1000000");
}

TEST(TextReader, GivesTheTokensOfTheWholeTextWhateverItsParts) {
  const TestFolder folder("read");
  const Tokenizer tokenizer = train_tokenizer({small_corpus()}, {.vocab_size = 400});
  std::string text = small_corpus();
  while (text.size() < (2 << 20)) text += text;
  folder.write("t.txt", text);
  std::vector<uint32_t> expected = tokenizer.encode(text);
  expected.push_back(tokenizer.end_of_text());
  for (const int threads : {1, 3}) {
    encode_to_file(find_text_files({folder / "t.txt"}), {}, tokenizer, threads, folder / "tokens");
    const TokenData data = TokenData::open(folder / "tokens");
    ASSERT_EQ(data.num_documents(), 1);
    std::vector<uint32_t> tokens(static_cast<size_t>(data.num_tokens()));
    data.read(0, tokens);
    EXPECT_TRUE(tokens == expected);
  }
}

TEST(TextReader, LeavesOutFilesOfAByteOrderMarkAloneAndRunsOfATrainingInAFolder) {
  const TestFolder folder("read");
  folder.write("mark.txt", "\xEF\xBB\xBF");
  folder.write("mark16.txt", "\xFF\xFE");
  folder.write("good.txt", "text");
  folder.write("runs/a/config.yaml", "data: [x]\n");
  folder.write("runs/a/metrics.jsonl", "{\"step\": 1}\n");
  folder.write("runs/b/config.yaml", "data: [x]\n");
  folder.write("runs/b/checkpoint-5/config.json", "{}");
  folder.write("notes/config.yaml", "a: text of its own\n");
  const TextFiles files = find_text_files({folder.path()});
  EXPECT_THAT(files.paths, ElementsAre(folder / "good.txt", folder / "notes/config.yaml"));
  EXPECT_EQ(files.skipped_text(), "2 files skipped: 2 empty; 2 folders skipped: each holds a training run");
  EXPECT_ERROR(find_text_files({folder / "runs/a"}), "1 folder skipped: it holds a training run");
  EXPECT_ERROR(documents_of({folder / "mark.txt"}), "mark.txt is empty");
}

TEST(TextReader, SaysThatADataSetHasNothingUsable) {
  const TestFolder folder("read");
  const Tokenizer tokenizer = train_tokenizer({small_corpus()}, {.vocab_size = 300});
  const TextFiles files = find_text_files({folder.write("a.jsonl", "{\"text\": \"\"}\n\n{\"text\": \"\"}\n")});
  EXPECT_ERROR(encode_to_file(files, {}, tokenizer, 1, folder / "tokens"), "nothing usable in 1 file of");
  EXPECT_FALSE(std::filesystem::exists(folder / "tokens"));
}

}  // namespace
}  // namespace athanor::data
