// The terminal that standard output goes to.
#pragma once

namespace athanor {

/// Its columns; 80 for a pipe, a file, or where the system does not tell.
int terminal_columns();

}  // namespace athanor
