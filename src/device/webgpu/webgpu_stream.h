// How a kernel reaches WebGPU: a Dispatch names shader text, constants, bindings and a grid; the stream compiles the pipeline
// once, caches bind groups, and records. Only src/kernels includes this.
#pragma once

#include "device/choices.h"
#include "device/device.h"
#include "device/webgpu/shader_source.h"

#include <array>
#include <functional>
#include <set>
#include <vector>

namespace athanor::device::webgpu {

inline constexpr std::string_view kPortable = "portable";

enum class Access { Read, ReadWrite };

struct Binding {
  Buffer buffer;
  Access access = Access::Read;
};

inline Binding read(const Buffer& buffer) { return {buffer, Access::Read}; }
inline Binding read_write(const Buffer& buffer) { return {buffer, Access::ReadWrite}; }

struct Grid {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

/// One launch. The uniform with params follows the storage bindings (binding number bindings.size()), unless params is empty.
/// (kernel, pass, variant) names the shader: prelude and sources are the same for every launch of one variant, but for the
/// constants of a size, and the bindings and grid of the "portable" variant are those of the file's head. `athanor kernels` shows
/// it, and --kernel puts a user's file in its place.
struct Dispatch {
  std::string kernel;  // name in profiles and errors: "matmul_t"
  std::string pass;    // of a kernel that takes several launches: all but the main one have a word, "weight"
  std::string variant = "portable";          // "scalar" for rows that are no whole vectors, "few_rows", ...
  std::vector<const ShaderSource*> sources;  // joined in order behind the prelude
  std::string prelude;  // lines "const NAME: u32 = 4u;" and "alias Value = vec4<f32>;" of this variant
  const char* entry_point = "main";
  std::vector<Binding> bindings;  // group 0, numbered from 0
  std::vector<uint32_t> params;   // at most 32 words; floats as bits (float_bits)
  Grid grid;
  KernelCost cost;
  bool needs_f16 = false;  // the launcher puts "enable f16;" in front
  bool needs_subgroups = false;
  bool needs_subgroup_matrix = false;  // Dawn's chromium_experimental_subgroup_matrix
};

/// A matrix product that the adapter's units do at once: (M, K) by (K, N).
struct SubgroupMatrix {
  enum class Component { F32, F16, Other };
  Component operand = Component::Other;
  Component result = Component::Other;
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
  uint32_t subgroup_size = 0;  // lanes that hold it together; 0: the adapter does not fix their number
};

uint32_t float_bits(float value);

using KernelNames = std::set<std::string, std::less<>>;

struct Limits {
  int64_t max_binding_bytes = 128 << 20;
  uint32_t max_workgroups_per_dimension = 65535;
  uint32_t workgroup_memory_bytes = 16384;
  uint32_t max_threads_per_workgroup = 256;
  uint32_t max_storage_buffers = 8;
};

class WebGpuStream : public Stream {
 public:
  virtual const Limits& limits() const = 0;
  virtual bool has_f16() const = 0;
  virtual bool has_subgroups() const = 0;
  /// What the adapter reports; empty without the extension.
  virtual std::span<const SubgroupMatrix> subgroup_matrices() const = 0;
  /// Checks bindings (size, alignment, no buffer both read and written), then records. Throws Error with kernel and sizes.
  virtual void dispatch(const Dispatch& dispatch) = 0;
  /// The kernels that are launched in their portable form alone: a file of the user stands in for it, or for that of a pass
  /// (DeviceOptions::kernel_files), or their faster forms are wrong on this adapter (plain_kernels).
  virtual const KernelNames& portable_kernels() const;
  /// A launcher asks before it takes a faster form of this kernel.
  bool keeps_portable(std::string_view kernel) const { return portable_kernels().contains(kernel); }
  /// What a launcher takes of several forms that are all right: what the table in use says and this launch admits, else the rule's.
  virtual int64_t choose(const Choice& choice) const;
  /// nullptr: none.
  void use_choices(std::shared_ptr<const ChoiceTable> table) { choices_ = std::move(table); }
  const std::shared_ptr<const ChoiceTable>& choices() const { return choices_; }
  /// Launches so far that ran the user's file for this name.
  virtual int64_t replaced_launches(std::string_view name) const {
    static_cast<void>(name);
    return 0;
  }
  /// Whether the user's files are launched at all; a bench times ours beside them.
  virtual void use_kernel_files(bool use) { static_cast<void>(use); }
  /// The door of a kernel was called; what it dispatches comes next. Only a dry run cares.
  virtual void enter(std::string_view kernel, const KernelCost& cost) {
    static_cast<void>(kernel);
    static_cast<void>(cost);
  }
  /// Lowers the limit on workgroups a dimension, so that tests reach the folding with small data.
  virtual void set_max_workgroups(uint32_t limit) = 0;
  /// Groups folded on a 2-D grid: shaders compute index = workgroup_id.x + workgroup_id.y * num_workgroups.x and must
  /// return when index >= groups (uniformly).
  Grid fold(int64_t groups) const;

 private:
  std::shared_ptr<const ChoiceTable> choices_;
};

WebGpuStream& as_webgpu(Stream& stream);

/// While it lives, the grid of a WebGPU device takes only so many workgroups a dimension, so that small data reaches the folding.
class FewWorkgroups {
 public:
  FewWorkgroups(Stream& stream, uint32_t limit);
  FewWorkgroups(const FewWorkgroups&) = delete;
  FewWorkgroups& operator=(const FewWorkgroups&) = delete;
  ~FewWorkgroups();

 private:
  WebGpuStream* stream_ = nullptr;  // nullptr for the CPU
  uint32_t before_ = 0;
};

}  // namespace athanor::device::webgpu
