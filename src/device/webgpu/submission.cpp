// Hands batches to the queue and learns from their times.
#include "device/webgpu/recording_stream.h"

#include "base/fault.h"
#include "base/host.h"
#include "device/device_lost.h"

#include <algorithm>

namespace athanor::device::webgpu {

void RecordingStream::submit() {
  gpu_.check_thread("submit");
  gpu_.check_alive(doing_);
  submit_batch();
}

void RecordingStream::submit_batch() {
  if (batch_.encoder == nullptr) return;
  end_pass();
  if (std::shared_ptr<StagingSlot> times = profiler_.end_batch(batch_.encoder))
    batch_.reads.push_back(std::move(times));
  WGPUCommandBufferDescriptor description = WGPU_COMMAND_BUFFER_DESCRIPTOR_INIT;
  Owned<WGPUCommandBuffer> commands(gpu_.api().CommandEncoderFinish(batch_.encoder, &description),
                                    gpu_.api().CommandBufferRelease);
  gpu_.api().CommandEncoderRelease(std::exchange(batch_.encoder, nullptr));
  if (batch_.launches > 0) {
    gpu_.api().QueueWriteBuffer(gpu_.queue(), uniforms_.get(), 0, params_.data(),
                                static_cast<size_t>(batch_.launches * kUniformSlotBytes));
  }
  if (fault_due("device-lost")) gpu_.lose();
  hand_in(commands.get());
  for (const std::shared_ptr<StagingSlot>& slot : batch_.reads) staging_.start_mapping(*slot);
  batch_ = {};
  batch_number_ += 1;
  uploaded_bytes_ = 0;
}

void RecordingStream::hand_in(WGPUCommandBuffer commands) {
  Submission& submission = free_submission();
  // An error in the recorded commands makes them worthless; the queue must not see them.
  try {
    gpu_.check_alive(doing_);
  } catch (const Error&) {
    abandon_batch();
    throw;
  }
  submission.is_running = true;
  submission.submitted = now_seconds();
  submission.estimated_seconds = batch_.seconds;
  gpu_.api().QueueSubmit(gpu_.queue(), 1, &commands);
  WGPUQueueWorkDoneCallbackInfo then = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
  then.mode = WGPUCallbackMode_AllowProcessEvents;
  then.userdata1 = &submission;
  then.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void* to, void*) {
    auto* done = static_cast<Submission*>(to);
    done->is_running = false;
    done->finished = now_seconds();
    done->is_exact = *done->host_waits;
  };
  gpu_.api().QueueOnSubmittedWorkDone(gpu_.queue(), then);
}

void RecordingStream::abandon_batch() {
  for (const std::shared_ptr<StagingSlot>& slot : batch_.reads) {
    slot->state = StagingSlot::State::Failed;
    slot->failure = "the batch that fills it was refused";
  }
  batch_ = {};
  batch_number_ += 1;
}

RecordingStream::Submission& RecordingStream::free_submission() {
  const auto find = [&] {
    return std::find_if(submissions_.begin(), submissions_.end(),
                        [](const Submission& each) { return !each.is_running; });
  };
  if (find() == submissions_.end()) {
    host_waits_ = true;
    gpu_.wait_until([&] { return find() != submissions_.end(); });
    host_waits_ = false;
  }
  learn_from_finished();
  return *find();
}

void RecordingStream::learn_from_finished() {
  std::array<Submission*, kMostInFlight> in_order{};
  std::transform(submissions_.begin(), submissions_.end(), in_order.begin(), [](Submission& each) { return &each; });
  std::sort(in_order.begin(), in_order.end(),
            [](const Submission* a, const Submission* b) { return a->finished < b->finished; });
  for (Submission* submission : in_order) {
    if (submission->is_running || submission->finished == 0) continue;
    // A batch begins when the one before it has ended.
    const double began = std::max(submission->submitted, last_finished_);
    clock_.measured(submission->estimated_seconds, submission->finished - began, submission->is_exact);
    last_finished_ = submission->finished;
    submission->finished = 0;
  }
}

void RecordingStream::wait_for_submissions() {
  host_waits_ = true;
  gpu_.wait_until([&] {
    return std::none_of(submissions_.begin(), submissions_.end(),
                        [](const Submission& each) { return each.is_running; });
  });
  host_waits_ = false;
  learn_from_finished();
}

void RecordingStream::wait() {
  gpu_.check_thread("wait");
  gpu_.check_alive(doing_);
  submit_batch();
  wait_for_submissions();
  gpu_.check_alive(doing_);
}

void RecordingStream::set_profiling(bool on) {
  wait();
  profiler_.turn(on);
}

std::vector<KernelLaunch> RecordingStream::take_launches() {
  wait();
  return profiler_.take();
}

void RecordingStream::close() {
  try {
    wait_for_submissions();
  } catch (const Error&) {
    // A device that is lost runs nothing any more.
  }
  end_pass();
  if (batch_.encoder != nullptr) gpu_.api().CommandEncoderRelease(std::exchange(batch_.encoder, nullptr));
  batch_ = {};
  profiler_.close();
  staging_.close();
  bind_groups_.close();
  pipelines_.close();
  uniforms_.reset();
}

}  // namespace athanor::device::webgpu
