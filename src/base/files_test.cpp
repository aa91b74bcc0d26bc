// Tests of mapped_file.h, hash.h and shared_library.h.
#include "base/expect_error.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/shared_library.h"
#include "base/test_folder.h"

#ifndef _WIN32
#include <sys/stat.h>
#endif

namespace athanor {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, GivesTheBytesAndKeepsThemWhenMoved) {
  const TestFolder folder;
  MappedFile file(folder.put("a", std::string("x\0y", 3)));
  const MappedFile moved = std::move(file);
  EXPECT_EQ(text_of(moved.bytes()), std::string("x\0y", 3));
  EXPECT_EQ(moved.path(), folder / "a");
}

TEST(MappedFile, HasItsBytesAgainWhenItsPagesWereReleased) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i);
  const MappedFile file(folder.put("a", text));
  EXPECT_EQ(text_of(file.bytes()), text);
  release_pages(file.bytes());
  release_pages(file.bytes().subspan(7, 3));  // no whole page
  EXPECT_EQ(text_of(file.bytes()), text);
}

TEST(MappedFile, AnEmptyFileGivesAnEmptySpan) {
  const TestFolder folder;
  EXPECT_TRUE(MappedFile(folder.put("empty", "")).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFileAndSaysWhy) {
  const TestFolder folder;
  EXPECT_ERROR(MappedFile(folder / "missing"),
               (folder / "missing").string() + ": cannot be read: No such file or directory");
  EXPECT_ERROR(MappedFile(folder.path()), "is a folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_ERROR(MappedFile(folder / "pipe"), "not a regular file");
}

TEST(Hash, GivesTheKnownValuesOfXxh3With128Bits) {
  EXPECT_EQ(hash_hex({}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_hex(std::as_bytes(std::span("abc", 3))), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, OfAFileIsThatOfItsBytesAndSeesOneChangedBit) {
  const TestFolder folder;
  std::string text(100000, 'a');
  const std::string before = hash_file(folder.put("a", text));
  EXPECT_EQ(before, hash_hex(std::as_bytes(std::span(text))));
  text[77777] ^= 1;
  EXPECT_NE(hash_file(folder.put("a", text)), before);
  text[77777] ^= 1;
  text.pop_back();
  EXPECT_NE(hash_file(folder.put("a", text)), before);
}

TEST(SharedLibrary, FindsASymbolAndTellsOneThatIsNotThere) {
  const SharedLibrary library("libm.so.6");
  const auto cosine = reinterpret_cast<double (*)(double)>(library.find("cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(library.find("no_such_symbol_here"), nullptr);
}

TEST(SharedLibrary, AMissingOneIsReportedWithTheLoadersText) {
  EXPECT_ERROR(SharedLibrary("/nowhere/libnothing.so"), "No such file or directory");
  const TestFolder folder;
  EXPECT_ERROR(SharedLibrary(folder.put("text.so", "not a library")), "text.so: the library cannot be loaded");
}

}  // namespace
}  // namespace athanor
