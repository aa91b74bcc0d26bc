// The name is checked against the launchers' own; bindings and entry point are checked by the WebGPU library when the pipeline is made.
#include "train/kernel_files.h"

#include "base/log.h"
#include "base/mapped_file.h"
#include "data/text_encoding.h"
#include "kernels/kernel_forms.h"

namespace athanor::train {

namespace {

// The longest of our own is about 20 KB.
constexpr size_t kMostBytes = 1 << 20;

device::KernelFile read_kernel_file(const std::string& value) {
  const size_t equals = value.find('=');
  check(equals != std::string::npos && equals > 0 && equals + 1 < value.size(),
        "--kernel {}: this is not NAME=FILE; write for example --kernel matmul_t=mine.wgsl", value);
  const std::string name = value.substr(0, equals);
  const std::string path = value.substr(equals + 1);
  const MappedFile file(path);
  const auto bytes = file.bytes();
  check(!bytes.empty() && bytes.size() <= kMostBytes,
        "--kernel {}: {} has {} bytes; a shader has 1 to {}, as `athanor kernels --wgsl {}` prints it", name, path,
        bytes.size(), kMostBytes, name);
  std::string text = data::to_utf8({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "utf-8", path);
  check(text.find('\0') == std::string::npos, "--kernel {}: {} holds a NUL byte; it is no WGSL text", name, path);
  return {name, std::move(text)};
}

}  // namespace

std::vector<device::KernelFile> read_kernel_files(const std::vector<std::string>& values) {
  std::vector<device::KernelFile> files;
  if (values.empty()) return files;
  for (const std::string& value : values) {
    files.push_back(read_kernel_file(value));
    for (size_t i = 0; i + 1 < files.size(); ++i)
      check(files[i].kernel != files.back().kernel, "--kernel: {} is given twice; give one file a kernel",
            files[i].kernel);
  }
  const std::vector<kernels::KernelForm> forms = kernels::kernel_forms(nullptr);
  for (const device::KernelFile& file : files) kernels::check_kernel_name(forms, file.kernel);
  return files;
}

void warn_of_unused_kernel_files(device::Device& device, const std::vector<device::KernelFile>& files) {
  for (const device::KernelFile& file : files) {
    if (kernels::replaced_launches(device.stream(), file.kernel) == 0)
      log_warning("--kernel {}: it was never launched; nothing here uses that kernel in its portable form",
                  file.kernel);
  }
}

}  // namespace athanor::train
