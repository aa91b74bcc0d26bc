// copy as a plain loop, and the shapes it is tried at.
#include "kernels/copy/copy_reference.h"

namespace athanor::kernels {

std::vector<double> copy_reference(const std::vector<double>& source, std::vector<double> out, const Copy& args) {
  for (int64_t a = 0; a < args.sizes[0]; ++a) {
    for (int64_t b = 0; b < args.sizes[1]; ++b) {
      for (int64_t c = 0; c < args.sizes[2]; ++c) {
        for (int64_t d = 0; d < args.sizes[3]; ++d) {
          const auto& s = args.source_strides;
          const auto& o = args.out_strides;
          const int64_t from = args.source_offset + a * s[0] + b * s[1] + c * s[2] + d * s[3];
          const int64_t to = args.out_offset + a * o[0] + b * o[1] + c * o[2] + d * o[3];
          out[static_cast<size_t>(to)] = source[static_cast<size_t>(from)];
        }
      }
    }
  }
  return out;
}

namespace {

struct Case {
  std::string name;
  int64_t source_count;
  int64_t out_count;
  Copy args;  // without buffers
  bool in_doctor;
};

Case in_a_row(int64_t count, bool in_doctor) {
  return {fmt::format("count {}", count), count, count, contiguous_copy({}, {}, count), in_doctor};
}

// In a row below and above a workgroup, with and without vec4; then what a model does with a tensor's strides.
std::vector<Case> all_cases() {
  std::vector<Case> cases = {in_a_row(1, false),     in_a_row(3, false),         in_a_row(4, true),
                             in_a_row(5, false),     in_a_row(63, true),         in_a_row(65, false),
                             in_a_row(257, false),   in_a_row(2006, false),      in_a_row(4100, true),
                             in_a_row(65537, false), in_a_row(1024 * 768, false)};
  // Columns 8 to 19 of rows of 64 into rows of 12.
  cases.push_back(
      {"columns 8 to 19 of 5 rows", 320, 60, {{}, {}, {1, 1, 5, 12}, {0, 0, 64, 1}, {0, 0, 12, 1}, 8, 0}, true});
  cases.push_back({"columns 7 to 19 of 63 rows into rows of 16",
                   63 * 65,
                   63 * 16,
                   {{}, {}, {1, 1, 63, 13}, {0, 0, 65, 1}, {0, 0, 16, 1}, 7, 2},
                   true});
  // (B, T, H, D) to (B, H, T, D), as attention by parts has it.
  cases.push_back({"(2, 65, 3, 8) to (2, 3, 65, 8)",
                   2 * 65 * 24,
                   2 * 65 * 24,
                   {{}, {}, {2, 65, 3, 8}, {65 * 24, 24, 8, 1}, {65 * 24, 8, 65 * 8, 1}},
                   false});
  cases.push_back(
      {"(2, 5, 3, 7) to (2, 3, 5, 7)", 210, 210, {{}, {}, {2, 5, 3, 7}, {105, 21, 7, 1}, {105, 7, 35, 1}}, true});
  cases.push_back(
      {"transpose of 257 x 63", 257 * 63, 257 * 63, {{}, {}, {1, 1, 257, 63}, {0, 0, 63, 1}, {0, 0, 1, 257}}, false});
  cases.push_back({"all four dimensions turned round",
                   3 * 4 * 5 * 6,
                   3 * 4 * 5 * 6,
                   {{}, {}, {3, 4, 5, 6}, {120, 30, 6, 1}, {1, 3, 12, 60}},
                   true});
  cases.push_back(
      {"a row repeated 343 times", 12, 343 * 12, {{}, {}, {1, 1, 343, 12}, {0, 0, 0, 1}, {0, 0, 12, 1}}, false});
  cases.push_back({"one element far in", 70, 70, {{}, {}, {1, 1, 1, 1}, {}, {}, 65, 3}, true});
  return cases;
}

CaseResult run_case(device::Stream& stream, const Case& one) {
  const std::vector<float> source = test_values(one.source_count, 1);
  const std::vector<float> before = test_values(one.out_count, 2);  // what is not copied stays
  Copy args = one.args;
  args.source = upload_values(stream, source);
  args.out = upload_values(stream, before);
  copy(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), copy_reference(to_double(source), to_double(before), args),
          allowed_f32(1));
  return result;
}

}  // namespace

std::vector<KernelCase> copy_cases() {
  std::vector<KernelCase> cases;
  for (const Case& one : all_cases()) {
    cases.push_back({one.name, one.in_doctor, [one](device::Stream& stream) { return run_case(stream, one); }});
  }
  return cases;
}

}  // namespace athanor::kernels
