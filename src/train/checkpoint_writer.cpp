// One thread a checkpoint; the copy outlives it.
#include "train/checkpoint_writer.h"

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace athanor::train {

namespace {

int64_t total_bytes(const std::vector<device::Buffer>& buffers) {
  int64_t bytes = 0;
  for (const device::Buffer& buffer : buffers) bytes += buffer.size_bytes();
  return bytes;
}

}  // namespace

std::vector<device::Buffer> slabs_of(const CheckpointParts& parts) {
  struct Range {
    std::shared_ptr<device::Storage> storage;
    int64_t begin = 0;
    int64_t end = 0;
  };
  std::map<uint64_t, Range> ranges;
  for (const device::Buffer& buffer : parts.buffers()) {
    const int64_t begin = buffer.offset_bytes();
    const int64_t end = begin + buffer.size_bytes();
    const auto [found, is_first] = ranges.try_emplace(buffer.storage()->id(), Range{buffer.storage(), begin, end});
    if (is_first) continue;
    found->second.begin = std::min(found->second.begin, begin);
    found->second.end = std::max(found->second.end, end);
  }
  std::vector<device::Buffer> slabs;
  for (const auto& [id, range] : ranges) slabs.emplace_back(range.storage, range.begin, range.end - range.begin);
  return slabs;
}

int64_t StateSnapshot::size_bytes(const CheckpointParts& parts) { return total_bytes(slabs_of(parts)); }

void StateSnapshot::take(device::Stream& stream, const CheckpointParts& parts) {
  const std::vector<device::Buffer> slabs = slabs_of(parts);
  const int64_t bytes = total_bytes(slabs);
  if (bytes > held_bytes_) {
    memory_.reset();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    held_bytes_ = bytes;
  }
  places_.clear();
  int64_t at = 0;
  for (const device::Buffer& slab : slabs) {
    stream.download(slab, {memory_.get() + at, static_cast<size_t>(slab.size_bytes())});
    places_[slab.storage()->id()] = {slab.offset_bytes(), at};
    at += slab.size_bytes();
  }
}

std::span<const std::byte> StateSnapshot::read(const device::Buffer& buffer) const {
  const Place& place = places_.at(buffer.storage()->id());
  return {memory_.get() + place.at + buffer.offset_bytes() - place.first_byte,
          static_cast<size_t>(buffer.size_bytes())};
}

CheckpointWriter::CheckpointWriter(RunFolder run, const CheckpointParts& parts, const data::Tokenizer& tokenizer,
                                   bool in_background)
    : run_(std::move(run)), parts_(parts), tokenizer_(tokenizer), in_background_(in_background) {}

CheckpointWriter::~CheckpointWriter() {
  try {
    finish();
  } catch (const std::exception& error) {
    log_warning("{}", error.what());
  }
}

bool CheckpointWriter::may_copy() {
  if (!in_background_) return false;
  const int64_t bytes = checkpoint_host_bytes(parts_, true) - snapshot_.held_bytes();
  if (has_room_for_copy(bytes)) return true;
  log_debug(
      "checkpoints are written while training waits: a copy of the state needs {} bytes of memory and {} are free",
      bytes, available_memory_bytes());
  in_background_ = false;
  return false;
}

void CheckpointWriter::save(device::Stream& stream, const TrainerState& state) {
  finish();
  if (!may_copy()) {
    save_now(stream, state);
    return;
  }
  // The machine promised the memory, and this process may have neither it nor another thread.
  try {
    snapshot_.take(stream, parts_);
    thread_ = std::thread([this, state] { write(state); });
    return;
  } catch (const std::bad_alloc&) {
  } catch (const std::system_error&) {
  }
  in_background_ = false;
  save_now(stream, state);
}

void CheckpointWriter::write(const TrainerState& state) {
  try {
    save_checkpoint([this](const device::Buffer& buffer) { return snapshot_.read(buffer); }, run_, parts_, tokenizer_,
                    state);
  } catch (...) {
    error_ = std::current_exception();
  }
  is_done_ = true;
}

void CheckpointWriter::save_now(device::Stream& stream, const TrainerState& state) {
  finish();
  save_checkpoint(stream, run_, parts_, tokenizer_, state);
}

void CheckpointWriter::poll() {
  if (is_done_) finish();
}

void CheckpointWriter::finish() {
  if (thread_.joinable()) thread_.join();
  is_done_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

int64_t checkpoint_host_bytes(const CheckpointParts& parts, bool in_background) {
  // A tensor as it is read, and once more where it lies turned in the file.
  int64_t largest = 0;
  int64_t largest_turned = 0;
  for (const device::Buffer& buffer : parts.buffers()) largest = std::max(largest, buffer.size_bytes());
  for (const nn::Parameter& parameter : parts.model.parameters().all()) {
    if (parameter.spec.layout == nn::FileLayout::Transposed)
      largest_turned = std::max(largest_turned, parameter.spec.shape.num_elements() * 4);
  }
  if (in_background) return StateSnapshot::size_bytes(parts) + std::max(largest, 2 * largest_turned);
  return std::max(largest, 2 * largest_turned);
}

bool has_room_for_copy(int64_t bytes) {
  const int64_t reserve = total_memory_bytes() / 20;  // that the machine keeps for everything else
  return bytes <= available_memory_bytes() - reserve;
}

}  // namespace athanor::train
