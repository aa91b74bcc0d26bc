// The program: everything is in the library below.
#include "cli/cli.h"

int main(int argc, char** argv) { return athanor::cli::run(argc, argv); }
