// Where a WebGPU library may lie.
#pragma once

#include <filesystem>
#include <vector>

namespace athanor::device::webgpu {

/// Paths to try in order: $ATHANOR_WEBGPU_LIBRARY alone when it is set, else Dawn and then wgpu-native, each in
/// ../lib/athanor beside the executable, in what the build fetched, and by bare name through the loader's own path.
/// Paths with a folder are there; a bare name may not be.
std::vector<std::filesystem::path> library_candidates();

}  // namespace athanor::device::webgpu
