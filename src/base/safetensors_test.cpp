#include "base/safetensors.h"

#include <cstring>

#include "base/expect_error.h"
#include "base/fault.h"
#include "base/random.h"
#include "base/test_folder.h"

namespace athanor {
namespace {

/// A file with this header text and so many bytes of data.
std::string file_of(std::string_view header, size_t data_bytes = 0) {
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  return file.append(header).append(data_bytes, 'd');
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

constexpr const char* kOneTensor = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

TEST(Safetensors, ReadsBackWhatItWrote) {
  const TestFolder folder;
  const std::vector<float> weight{1, 2, 3, 4, 5, 6};
  const std::vector<TensorToWrite> tensors{
      {.name = "tokens", .dtype = DType::U16, .shape = {3}, .bytes = bytes_of("abcdef")},
      {.name = "layer.weight", .dtype = DType::F32, .shape = {2, 3}, .bytes = std::as_bytes(std::span(weight))},
      {.name = "scalar", .dtype = DType::U64, .shape = {}, .bytes = bytes_of("12345678")},
      {.name = "empty", .dtype = DType::F16, .shape = {0, 5}},
      {.name = "ığü", .dtype = DType::U8, .shape = {1}, .bytes = bytes_of("x")},
  };
  write_safetensors(folder / "m.safetensors", tensors, {{"format", "pt"}, {"note", "a \"quoted\" 世界"}});

  const SafetensorsFile file(folder / "m.safetensors");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"empty", "layer.weight", "scalar", "tokens", "ığü"}));
  EXPECT_EQ(file.metadata().at("note"), "a \"quoted\" 世界");
  EXPECT_EQ(file.metadata().size(), 2u);
  const TensorEntry& read = file.at("layer.weight");
  EXPECT_EQ(read.dtype, DType::F32);
  EXPECT_EQ(read.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(read.bytes.size(), 24u);
  EXPECT_EQ(std::memcmp(read.bytes.data(), weight.data(), 24), 0);
  EXPECT_EQ(file.at("scalar").num_elements(), 1);
  EXPECT_EQ(file.at("empty").num_elements(), 0);
  EXPECT_EQ(file.at("tokens").num_elements(), 3);
  for (const std::string& name : file.names()) EXPECT_TRUE(file.at(name).is_aligned()) << name;
}

TEST(Safetensors, FindGivesNothingAndAtRefusesAnUnknownName) {
  const TestFolder folder;
  const SafetensorsFile file(folder.put("f", file_of(kOneTensor, 24)));
  EXPECT_NE(file.find("w"), nullptr);
  EXPECT_EQ(file.find("v"), nullptr);
  EXPECT_ERROR(file.at("v"), "has no tensor \"v\"");
}

TEST(Safetensors, TheHeaderEndsOnEightBytesWithoutNamesToo) {
  const TestFolder folder;
  write_safetensors(folder / "empty", {});
  EXPECT_EQ(folder.read(folder / "empty"), file_of("{}      "));
  EXPECT_TRUE(SafetensorsFile(folder / "empty").names().empty());
}

TEST(Safetensors, AProducedTensorIsAskedForOnceAtItsTurn) {
  const TestFolder folder;
  std::vector<std::string> asked;
  const auto produce = [&](const char* name) {
    return [&asked, name] {
      asked.push_back(name);
      return bytes_of("zz");
    };
  };
  const std::vector<TensorToWrite> tensors{{.name = "b", .dtype = DType::U8, .shape = {2}, .produce = produce("b")},
                                           {.name = "a", .dtype = DType::U8, .shape = {2}, .produce = produce("a")}};
  write_safetensors(folder / "f", tensors);
  EXPECT_EQ(asked, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(SafetensorsFile(folder / "f").at("a").bytes.size(), 2u);
}

TEST(Safetensors, MovingTheFileKeepsItsSpans) {
  const TestFolder folder;
  SafetensorsFile file(folder.put("f", file_of(kOneTensor, 24)));
  const std::byte* before = file.at("w").bytes.data();
  const SafetensorsFile moved = std::move(file);
  EXPECT_EQ(moved.at("w").bytes.data(), before);
  EXPECT_EQ(moved.at("w").bytes[23], std::byte{'d'});
}

TEST(Safetensors, TheWriterRefusesWhatDoesNotFitAndLeavesNoFile) {
  const TestFolder folder;
  const auto write = [&](std::vector<TensorToWrite> tensors) { write_safetensors(folder / "f", tensors); };
  EXPECT_ERROR(write({{.name = "w", .shape = {2}, .bytes = bytes_of("1234")}}),
               "tensor \"w\" has 4 bytes but its shape and type need 8");
  EXPECT_ERROR(write({{.name = "w", .shape = {0}}, {.name = "w", .shape = {0}}}), "\"w\" is given twice");
  EXPECT_ERROR(write({{.name = "w", .shape = {-1}}}), "negative extent");
  EXPECT_ERROR(write({{.name = "w", .shape = {int64_t{1} << 61}}}), "too many elements");
  EXPECT_ERROR(write({{.name = "\xff", .shape = {0}}}), "not UTF-8");
  EXPECT_ERROR(write({{.name = "__metadata__", .shape = {0}}}), "cannot be named");
  set_fault("disk-full:3");
  EXPECT_ERROR(write({{.name = "w", .shape = {1}, .bytes = bytes_of("1234")}}), "No space left");
  set_fault("");
  EXPECT_EQ(folder.num_entries(), 0);
}

struct BadFile {
  const char* what;
  std::string bytes;
  const char* message;
};

std::vector<BadFile> bad_files() {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  const auto two = [](const char* first, const char* second) {
    return fmt::format(
        R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
        first, second);
  };
  std::string long_header = file_of(kOneTensor, 24);
  long_header[7] = '\x7f';
  return {
      {"empty", "", "has 0 bytes, fewer than the 8"},
      {"seven bytes", std::string(7, '\0'), "has 7 bytes"},
      {"header beyond the file", file_of(kOneTensor).substr(0, 30), "would have 57 bytes but only 22 follow"},
      {"huge header", long_header, "at most 100000000 are allowed"},
      {"no header", std::string(8, '\0'), "not JSON"},
      {"cut JSON", file_of("{\"w\":"), "not JSON"},
      {"text after the JSON", file_of("{} x"), "not JSON"},
      {"a list", file_of("[]"), "not a JSON object"},
      {"a number", file_of("7"), "not a JSON object"},
      {"deep", file_of(std::string(100000, '[')), "nested deeper than 3"},
      {"deep objects", file_of(R"({"a":{"b":{"c":{"d":1}}}})"), "nested deeper than 3"},
      {"long list",
       file_of(tensor("U8",
                      ("[0" + std::string(200, ' ') +
                       [] {
                         std::string zeros;
                         for (int i = 0; i < 100; ++i) zeros += ",0";
                         return zeros;
                       }() +
                       "]")
                          .c_str(),
                      "[0,0]")),
       "list of more than 64"},
      {"doubled tensor",
       file_of(
           R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
       "key \"w\" twice"},
      {"doubled dtype", file_of(R"({"w":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
       "key \"dtype\" twice"},
      {"doubled by escape", file_of(R"({"__metadata__":{"a":"1","\u0061":"2"}})"), "key \"a\" twice"},
      {"name not UTF-8", file_of("{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"), "not JSON"},
      {"lone surrogate", file_of(R"({"\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"), "not JSON"},
      {"metadata no text", file_of(R"({"__metadata__":{"a":1}})"), "value of \"a\" is not a text"},
      {"metadata a list", file_of(R"({"__metadata__":[]})"), "__metadata__ is not an object"},
      {"tensor no object", file_of(R"({"w":1})"), "not described by an object"},
      {"no dtype", file_of(R"({"w":{"shape":[0],"data_offsets":[0,0]}})"), "has no dtype"},
      {"no shape", file_of(R"({"w":{"dtype":"U8","data_offsets":[0,0]}})"), "has no shape"},
      {"no offsets", file_of(R"({"w":{"dtype":"U8","shape":[0]}})"), "has no data_offsets"},
      {"another key", file_of(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})"), "keys other than"},
      {"unknown dtype", file_of(tensor("C64", "[0]", "[0,0]")), "type \"C64\", which athanor does not read"},
      {"negative extent", file_of(tensor("U8", "[-1]", "[0,0]")), "shape holds something else"},
      {"fractional extent", file_of(tensor("U8", "[1.0]", "[0,1]"), 1), "shape holds something else"},
      {"extent beyond int64", file_of(tensor("U8", "[18446744073709551615]", "[0,0]")), "shape holds something else"},
      {"extent a list", file_of(tensor("U8", "[\"1\"]", "[0,1]"), 1), "shape holds something else"},
      {"shape overflows to 0", file_of(tensor("F32", "[4294967296,4294967296]", "[0,0]")), "too many elements"},
      {"bytes overflow to 0", file_of(tensor("F64", "[2305843009213693952]", "[0,0]")), "too many elements"},
      {"overflow behind a zero", file_of(tensor("F32", "[4294967296,4294967296,0]", "[0,0]")), "too many elements"},
      {"three offsets", file_of(tensor("U8", "[1]", "[0,1,1]"), 1), "not two whole numbers"},
      {"negative offset", file_of(tensor("U8", "[1]", "[-1,0]"), 1), "not two whole numbers"},
      {"offset beyond 64 bits", file_of(tensor("U8", "[1]", "[0,18446744073709551616]"), 1), "not two whole numbers"},
      {"end before begin", file_of(tensor("U8", "[1]", "[1,0]"), 1), "before it begins"},
      {"cut data", file_of(kOneTensor, 23), "ends at byte 24 of the data but the file holds 23"},
      {"end at the top", file_of(tensor("U8", "[1]", "[18446744073709551614,18446744073709551615]"), 1),
       "may be cut off"},
      {"bytes left over", file_of(kOneTensor, 25), "1 bytes after the last tensor"},
      {"data without tensors", file_of("{}", 5), "5 bytes after the last tensor"},
      {"size of another shape", file_of(tensor("F32", "[2,2]", "[0,24]"), 24), "need 16 bytes but it has 24"},
      {"overlap", file_of(two("[0,4]", "[3,7]"), 7), "inside the one before"},
      {"same place", file_of(two("[0,4]", "[0,4]"), 4), "inside the one before"},
      {"hole", file_of(two("[0,4]", "[5,9]"), 9), "bytes 4 to 5 of the data"},
      {"hole at the start", file_of(tensor("U8", "[1]", "[1,2]"), 2), "bytes 0 to 1 of the data"},
  };
}

TEST(Safetensors, RefusesEveryBadFileWithItsPathAndReason) {
  const TestFolder folder;
  for (const BadFile& bad : bad_files()) {
    SCOPED_TRACE(bad.what);
    const std::filesystem::path path = folder.put("bad.safetensors", bad.bytes);
    EXPECT_ERROR(SafetensorsFile{path}, bad.message);
    EXPECT_ERROR(SafetensorsFile{path}, path.string() + ": ");
  }
}

TEST(Safetensors, RefusesAMissingFileAndAFolder) {
  const TestFolder folder;
  EXPECT_ERROR(SafetensorsFile{folder / "missing"}, "No such file");
  EXPECT_ERROR(SafetensorsFile{folder.path()}, "is a folder");
}

TEST(Safetensors, AMisalignedFileIsReadAndSaysSo) {
  const TestFolder folder;
  const SafetensorsFile file(folder.put("f", file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )", 4)));
  EXPECT_FALSE(file.at("w").is_aligned());
}

// Whatever bytes change, the reader answers or throws Error; the address sanitizer watches the rest.
TEST(Safetensors, ChangedBytesNeverDoMoreThanThrow) {
  const TestFolder folder;
  const std::string good = file_of(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F16","shape":[2,1],"data_offsets":[4,8]}})",
      8);
  Random random(11, RandomStream::Test);
  int read = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (uint64_t change = 0; change <= random.below(3); ++change)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    const std::filesystem::path path = folder.put("f", bytes);
    try {
      const SafetensorsFile file(path);
      size_t total = 0;
      for (const std::string& name : file.names()) {
        for (const std::byte byte : file.at(name).bytes) total += std::to_integer<size_t>(byte) > 0;
      }
      EXPECT_LE(total, 8u);
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 1000);
}

TEST(SafetensorsLists, AreReadBackAsTheyGrew) {
  const TestFolder folder;
  const std::map<std::string, std::string> reserved{{"note", "a number of 9223372036854775807"}};
  {
    SafetensorsLists lists(folder / "l.safetensors", {{"tokens", DType::U16}, {"ends", DType::U64}}, reserved);
    lists.append(bytes_of("ab"));
    lists.append(bytes_of("cdef"));
    lists.next_list();
    lists.append(bytes_of("12345678"));
    EXPECT_ERROR(lists.next_list(), "all 2 lists are written");
    lists.commit({{"note", "a number of 7"}});
  }
  const SafetensorsFile file(folder / "l.safetensors");
  EXPECT_EQ(file.metadata().at("note"), "a number of 7");
  EXPECT_EQ(file.at("tokens").shape, std::vector<int64_t>{3});
  EXPECT_EQ(std::memcmp(file.at("tokens").bytes.data(), "abcdef", 6), 0);
  EXPECT_EQ(std::memcmp(file.at("ends").bytes.data(), "12345678", 8), 0);
}

TEST(SafetensorsLists, RefuseHalfAnElementAndAHeaderLongerThanItsRoom) {
  const TestFolder folder;
  SafetensorsLists half(folder / "l.safetensors", {{"tokens", DType::U16}}, {});
  half.append(bytes_of("abc"));
  EXPECT_ERROR(half.commit({}), "\"tokens\" has 3 bytes, which are no whole U16");
  SafetensorsLists longer(folder / "m.safetensors", {{"tokens", DType::U16}}, {});
  EXPECT_ERROR(longer.commit({{"note", std::string(100, 'x')}}), "were kept for it");
  EXPECT_EQ(std::filesystem::exists(folder / "l.safetensors"), false);
}

}  // namespace
}  // namespace athanor
