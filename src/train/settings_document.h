// docs/settings.md, written from the table of keys and the presets, so that it cannot differ from them.
#pragma once

#include <string>

namespace athanor::train {

/// Markdown: every setting with its default and meaning, what each preset sets, what follows from depth.
std::string settings_document();

}  // namespace athanor::train
