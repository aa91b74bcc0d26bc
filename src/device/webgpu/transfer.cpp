// Uploads, downloads, copies and fills. Uploads go past the recorded batch through the queue, unless that batch names the buffer.
#include "device/webgpu/recording_stream.h"

#include <algorithm>

namespace athanor::device::webgpu {

namespace {

// The runtime copies an upload to memory of its own until the next submission is done, so that large ones go in parts with
// a wait between.
constexpr int64_t kUploadPart = 32 << 20;
constexpr int64_t kMostUploaded = 256 << 20;
// Downloads overlap the copy of one part with the mapping of the next.
constexpr int64_t kDownloadPart = 32 << 20;

class SlotReadback : public Readback {
 public:
  SlotReadback(RecordingStream& stream, std::shared_ptr<StagingSlot> slot, int64_t size_bytes)
      : stream_(stream), slot_(std::move(slot)), size_bytes_(size_bytes) {}
  ~SlotReadback() override {
    if (slot_) slot_->is_abandoned = true;
  }
  void wait(std::span<std::byte> bytes) override {
    check(slot_ != nullptr, "readback: its bytes were taken already; ask for them again");
    check(bytes.size() == static_cast<size_t>(size_bytes_), "readback: {} bytes were asked for but {} are taken",
          size_bytes_, bytes.size());
    check(!slot_->is_closed, "readback: the device is closed; wait before it goes");
    stream_.finish_reading(*slot_, bytes);
    slot_ = nullptr;
  }

 private:
  RecordingStream& stream_;
  std::shared_ptr<StagingSlot> slot_;
  int64_t size_bytes_;
};

void check_same(std::string_view doing, const Buffer& buffer, size_t bytes) {
  check(buffer.size_bytes() == static_cast<int64_t>(bytes), "{}: the buffer has {} bytes but {} were given", doing,
        buffer.size_bytes(), bytes);
}

}  // namespace

void RecordingStream::check_words(std::string_view doing, const Buffer& buffer) const {
  pooled(buffer, doing);
  check(buffer.size_bytes() % 4 == 0 && buffer.offset_bytes() % 4 == 0,
        "{}: {} bytes at byte {} of {}; size and offset must be multiples of 4", doing, buffer.size_bytes(),
        buffer.offset_bytes(), buffer.storage()->label());
}

void RecordingStream::upload(const Buffer& to, std::span<const std::byte> bytes) {
  gpu_.check_thread("upload");
  gpu_.check_alive(doing_);
  check_words("upload", to);
  check_same("upload", to, bytes.size());
  PooledBuffer& target = pooled(to, "upload");
  if (target.last_batch == batch_number_) submit_batch();
  const auto size = static_cast<int64_t>(bytes.size());
  for (int64_t at = 0; at < size; at += kUploadPart) {
    const int64_t part = std::min(kUploadPart, size - at);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), target.handle.get(), static_cast<uint64_t>(to.offset_bytes() + at),
                                bytes.data() + at, static_cast<size_t>(part));
    uploaded_bytes_ += part;
    if (uploaded_bytes_ >= kMostUploaded) {
      begin_encoder();  // an empty batch carries the uploads
      submit_batch();
      wait_for_submissions();
    }
  }
}

std::shared_ptr<StagingSlot> RecordingStream::record_read(const Buffer& from, int64_t offset_bytes,
                                                          int64_t size_bytes) {
  PooledBuffer& source = pooled(from, "download");
  std::shared_ptr<StagingSlot> slot = staging_.take(size_bytes);
  begin_encoder();
  end_pass();
  gpu_.api().CommandEncoderCopyBufferToBuffer(batch_.encoder, source.handle.get(),
                                              static_cast<uint64_t>(from.offset_bytes() + offset_bytes),
                                              slot->buffer.get(), 0, static_cast<uint64_t>(size_bytes));
  source.last_batch = batch_number_;
  batch_.seconds += clock_.estimate({0, 2.0 * static_cast<double>(size_bytes)}, 0);
  batch_.reads.push_back(slot);
  return slot;
}

void RecordingStream::finish_reading(StagingSlot& slot, std::span<std::byte> bytes) {
  gpu_.check_thread("download");
  gpu_.check_alive(doing_);
  if (slot.state == StagingSlot::State::Recorded) submit_batch();
  gpu_.wait_until([&] { return slot.state == StagingSlot::State::Mapped || slot.state == StagingSlot::State::Failed; });
  gpu_.check_alive(doing_);
  staging_.read(slot, bytes);
}

void RecordingStream::download(const Buffer& from, std::span<std::byte> bytes) {
  gpu_.check_thread("download");
  gpu_.check_alive(doing_);
  check_words("download", from);
  check_same("download", from, bytes.size());
  count_read_back(from.size_bytes());
  struct Part {
    std::shared_ptr<StagingSlot> slot;
    std::span<std::byte> bytes;
  };
  Part before;
  const auto size = static_cast<int64_t>(bytes.size());
  for (int64_t at = 0; at < size; at += kDownloadPart) {
    const int64_t length = std::min(kDownloadPart, size - at);
    Part part{record_read(from, at, length), bytes.subspan(static_cast<size_t>(at), static_cast<size_t>(length))};
    submit_batch();
    if (before.slot) finish_reading(*before.slot, before.bytes);
    before = part;
  }
  if (before.slot) finish_reading(*before.slot, before.bytes);
}

std::unique_ptr<Readback> RecordingStream::read_later(const Buffer& from) {
  gpu_.check_thread("read_later");
  gpu_.check_alive(doing_);
  check_words("read_later", from);
  check(from.size_bytes() > 0, "read_later: an empty range of {}; ask for at least one value", from.storage()->label());
  count_read_back(from.size_bytes());
  return std::make_unique<SlotReadback>(*this, record_read(from, 0, from.size_bytes()), from.size_bytes());
}

void RecordingStream::record_copy(const Buffer& from, const Buffer& to) {
  PooledBuffer& source = pooled(from, "copy");
  PooledBuffer& target = pooled(to, "copy");
  begin_encoder();
  end_pass();
  gpu_.api().CommandEncoderCopyBufferToBuffer(
      batch_.encoder, source.handle.get(), static_cast<uint64_t>(from.offset_bytes()), target.handle.get(),
      static_cast<uint64_t>(to.offset_bytes()), static_cast<uint64_t>(from.size_bytes()));
  source.last_batch = batch_number_;
  target.last_batch = batch_number_;
  batch_.seconds += clock_.estimate({0, 2.0 * static_cast<double>(from.size_bytes())}, 0);
  if (clock_.is_full(batch_.seconds)) submit_batch();
}

void RecordingStream::copy(const Buffer& from, const Buffer& to) {
  gpu_.check_thread("copy");
  gpu_.check_alive(doing_);
  check_words("copy", from);
  check_words("copy", to);
  check_same("copy", to, static_cast<size_t>(from.size_bytes()));
  if (from.size_bytes() == 0) return;
  if (from.storage() != to.storage()) {
    record_copy(from, to);
    return;
  }
  // WebGPU copies between two buffers only.
  const Buffer between = device_.allocate(from.size_bytes(), "copy within one buffer");
  record_copy(from, between);
  record_copy(between, to);
}

void RecordingStream::fill_zero(const Buffer& to) {
  gpu_.check_thread("fill_zero");
  gpu_.check_alive(doing_);
  check_words("fill_zero", to);
  if (to.size_bytes() == 0) return;
  PooledBuffer& target = pooled(to, "fill_zero");
  begin_encoder();
  end_pass();
  gpu_.api().CommandEncoderClearBuffer(batch_.encoder, target.handle.get(), static_cast<uint64_t>(to.offset_bytes()),
                                       static_cast<uint64_t>(to.size_bytes()));
  target.last_batch = batch_number_;
  batch_.seconds += clock_.estimate({0, static_cast<double>(to.size_bytes())}, 0);
}

}  // namespace athanor::device::webgpu
