// Puts the commands together and turns what they throw into one line on stderr and an exit code.
#include "cli/cli.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "cli/bench_command.h"
#include "cli/data_command.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/exit_codes.h"
#include "cli/explain_command.h"
#include "cli/generate_command.h"
#include "cli/kernels_command.h"
#include "cli/output.h"
#include "cli/plan_command.h"
#include "cli/settings_command.h"
#include "cli/show_command.h"
#include "cli/tokenizer_command.h"
#include "cli/train_command.h"
#include "cli/tune_command.h"
#include "train/setting_error.h"
#include "train/settings.h"

namespace athanor::cli {

namespace {

/// In the order of --help: the way from text to a model that writes, then the machine.
void add_commands(CLI::App& app) {
  add_tokenizer_command(app);
  add_data_command(app);
  add_settings_command(app);
  add_plan_command(app);
  add_train_command(app);
  add_eval_command(app);
  add_show_command(app);
  add_generate_command(app);
  add_doctor_command(app);
  add_kernels_command(app);
  add_explain_command(app);
  add_bench_command(app);
  add_tune_command(app);
}

void add_global_options(CLI::App& app) {
  app.set_version_flag("--version", "athanor " ATHANOR_VERSION, "Print the version and exit");
  CLI::Option* verbose = app.add_flag("-v,--verbose")->description("Log more on stderr");
  CLI::Option* quiet = app.add_flag("-q,--quiet")->description("Log warnings and errors only, no progress");
  quiet->excludes(verbose);
  app.parse_complete_callback([verbose, quiet] {
    if (verbose->count() > 0) set_log_level(LogLevel::Debug);
    if (quiet->count() > 0) set_log_level(LogLevel::Warning);
  });
}

/// The command on the line, or the program itself.
const CLI::App& named_command(const CLI::App& app) {
  const CLI::App* named = &app;
  while (!named->get_subcommands().empty()) named = named->get_subcommands().back();
  return *named;
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : full_name(*command.get_parent()) + " " + command.get_name();
}

/// The command's name without the program's.
std::string own_name(const CLI::App& app) { return full_name(named_command(app)).substr(app.get_name().size() + 1); }

int say_error(std::string_view what) {
  // A line of its own even when a library's message has several, behind what was printed.
  std::string line(what);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fflush(stdout);
  log_line(LogLevel::Error, line);
  return kFailed;
}

int say_not_understood(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = named_command(app);
  const std::vector<std::string> rest = app.remaining();
  const bool is_unknown = command.get_parent() == nullptr && !rest.empty() && !rest.front().starts_with("-");
  std::string what = is_unknown ? fmt::format("there is no command \"{}\"", rest.front()) : std::string(error.what());
  std::replace(what.begin(), what.end(), '\n', ' ');
  log_line(LogLevel::Error, fmt::format("{}; {} --help shows what there is", what, full_name(command)));
  return kNotUnderstood;
}

int parse_and_run(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return kDone;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return say_not_understood(app, error);
    std::ostringstream text;  // --help and --version
    app.exit(error, text, text);
    write_output(text.str());
    return kDone;
  }
}

/// The variables that options of the command and of those below it read.
void collect_variables(const CLI::App& command, std::vector<std::string>& names) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_envname().empty()) names.push_back(option->get_envname());
  }
  for (const CLI::App* below : command.get_subcommands({})) collect_variables(*below, names);
}

/// A misspelt variable would say nothing to anybody.
void warn_of_unknown_variables(const CLI::App& app) {
  const std::vector<std::string> set = environment_names("ATHANOR_");
  if (set.empty()) return;
  std::vector<std::string> known = {"ATHANOR_WEBGPU_LIBRARY", "ATHANOR_FAULT"};
  for (const train::SettingKey& key : train::setting_keys()) known.push_back(key.environment_name());
  collect_variables(app, known);
  for (const std::string& name : set) {
    if (name.starts_with("ATHANOR_TEST_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    log_warning(
        "${} is not known and says nothing; {}", name,
        nearest.empty() ? "`athanor train --help` names the settings" : fmt::format("did you mean ${}?", nearest));
  }
}

/// What commands throw becomes a code here.
int run_guarded(CLI::App& app, int argc, const char* const* argv) {
  try {
    warn_of_unknown_variables(app);
    const int code = parse_and_run(app, argc, argv);
    flush_output();
    return code;
  } catch (const Exit& exit) {
    return exit.code;
  } catch (const Interrupted&) {
    log_warning("interrupted before the first step; nothing was kept");
    return kInterrupted;
  } catch (const std::bad_alloc&) {
    return say_error("out of memory; take a smaller model, batch or context, or close other programs");
  } catch (const std::filesystem::filesystem_error& error) {
    return say_error(fmt::format("{}: {}; check the path", error.path1().string(), error.code().message()));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) return kDone;
    return say_error(error.what());
  } catch (const train::SettingError& error) {
    return say_error(fmt::format("{}: {}", own_name(app), error.said()));
  } catch (const std::exception& error) {
    return say_error(error.what());
  }
}

}  // namespace

bool is_quiet(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return root->count("--quiet") > 0;
}

void read_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option == command.get_help_ptr()) continue;
    std::string name = "ATHANOR_";
    for (const char letter : option->get_lnames().front()) {
      name += letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    option->envname(name);
  }
}

int run(int argc, const char* const* argv) {
#ifdef SIGPIPE
  // A reader that went away shows as an error of the write, which ends the command in order.
  std::signal(SIGPIPE, SIG_IGN);
#endif
#ifdef SIGXFSZ
  // So does a file that grows past the limit of the process.
  std::signal(SIGXFSZ, SIG_IGN);
#endif
  CLI::App app("Trains language models from scratch and runs them on any GPU through WebGPU, or on the CPU.",
               "athanor");
  app.require_subcommand(1);
  app.fallthrough();  // global options may stand behind the command; commands inherit this
  app.option_defaults()->always_capture_default();
  app.footer(
      "Example:\n  athanor train mytexts/ -o runs/mine --minutes 10\n  athanor generate -m runs/mine -p \"Once\" -n "
      "200");
  add_global_options(app);
  add_commands(app);
  try {
    return run_guarded(app, argc, argv);
  } catch (...) {
    return kFailed;  // stderr or stdout refused the last words
  }
}

}  // namespace athanor::cli
