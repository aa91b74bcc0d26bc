// A sorted table: a few hundred entries at most, looked up once or twice a launch.
#include "device/choices.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace athanor::device {

int64_t size_class(int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 60;
  const int64_t within = std::clamp<int64_t>(size, 1, kMost);
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(within)));
  if (power == within) return power;
  // Between a power of two, three halves of it and the next: the nearer by ratio.
  const double ratio = static_cast<double>(within) / static_cast<double>(power);
  if (ratio * ratio < 1.5) return power;
  return ratio * ratio < 3 ? power / 2 * 3 : power * 2;
}

ChoiceTable::View ChoiceTable::view_of(std::string_view kernel, std::string_view what, const ChoiceSizes& sizes) {
  View view{kernel, what, {}};
  std::transform(sizes.begin(), sizes.end(), view.sizes.begin(), size_class);
  return view;
}

void ChoiceTable::set(const KnownChoice& known) {
  remove(known.kernel, known.what, known.sizes);
  known_.emplace(Key{known.kernel, known.what, view_of("", "", known.sizes).sizes}, known.answer);
}

void ChoiceTable::remove(std::string_view kernel, std::string_view what, const ChoiceSizes& sizes) {
  const auto found = known_.find(view_of(kernel, what, sizes));
  if (found != known_.end()) known_.erase(found);
}

std::optional<int64_t> ChoiceTable::find(const Choice& choice) const {
  if (known_.empty()) return std::nullopt;  // most devices, at every launch
  const auto found = known_.find(view_of(choice.kernel, choice.what, choice.sizes));
  if (found == known_.end()) return std::nullopt;
  const std::string& answer = found->second;
  int64_t number = 0;
  if (choice.names.empty()) {
    const auto [end, error] = std::from_chars(answer.data(), answer.data() + answer.size(), number);
    if (error != std::errc() || end != answer.data() + answer.size()) return std::nullopt;
  } else {
    const auto named = std::find(choice.names.begin(), choice.names.end(), answer);
    if (named == choice.names.end()) return std::nullopt;
    number = named - choice.names.begin();
  }
  if (number < choice.least || number > choice.most) return std::nullopt;
  return number;
}

std::vector<KnownChoice> ChoiceTable::all() const {
  std::vector<KnownChoice> all;
  for (const auto& [key, answer] : known_) all.push_back({key.kernel, key.what, key.sizes, answer});
  return all;
}

}  // namespace athanor::device
