// add as a plain loop in double, and the sizes it is tried at.
#include "kernels/add/add_reference.h"

#include "kernels/add/add.h"

namespace athanor::kernels {

std::vector<double> add_reference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i];
  return out;
}

namespace {

struct Size {
  int64_t count;
  bool in_doctor;
};

// Below and above a workgroup of 256 threads, with and without the four-wide variant, and a real activation (1024 x 768).
const std::vector<Size> kSizes = {{1, false},  {3, false},   {4, true},     {5, false},    {63, true},
                                  {65, false}, {257, false}, {4100, false}, {2006, false}, {1024 * 768, false}};

CaseResult run_add(device::Stream& stream, int64_t count) {
  const std::vector<float> a = test_values(count, 1);
  const std::vector<float> b = test_values(count, 2);
  const Add args{upload_values(stream, a), upload_values(stream, b), poisoned(stream, count), count};
  add(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), add_reference(to_double(a), to_double(b)), allowed_f32(1));
  return result;
}

CaseResult run_accumulate(device::Stream& stream, int64_t count) {
  const std::vector<float> from = test_values(count, 1);
  const std::vector<float> into = test_values(count, 2);
  const AddInto args{upload_values(stream, from), upload_values(stream, into), count};
  gradient_accumulate(stream, args);
  CaseResult result;
  compare(result, "into", download_values(stream, args.into), add_reference(to_double(into), to_double(from)),
          allowed_f32(1));
  compare(result, "from", download_values(stream, args.from), to_double(from), allowed_f32(1));
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, int64_t)) {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}", size.count), size.in_doctor,
                     [run, size](device::Stream& stream) { return run(stream, size.count); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> add_cases() { return cases_of(run_add); }
std::vector<KernelCase> gradient_accumulate_cases() { return cases_of(run_accumulate); }

}  // namespace athanor::kernels
