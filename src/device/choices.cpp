// A sorted table: a few hundred entries at most, looked up once or twice a launch.
#include "device/choices.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace athanor::device {

int64_t size_class(int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 60;
  int64_t below = 1;
  // Steps of 2 : 3 : 4; the nearer by ratio.
  for (int64_t above = 2; above <= kMost; above = above % 3 == 0 ? above / 3 * 4 : (above == 2 ? 3 : above / 2 * 3)) {
    if (size < above) {
      const double place = static_cast<double>(std::max<int64_t>(size, 1));
      return place * place < static_cast<double>(below) * static_cast<double>(above) ? below : above;
    }
    below = above;
  }
  return below;
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
