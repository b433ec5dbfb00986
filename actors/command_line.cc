#include "actors/command_line.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "actors/checkpoint_options.h"
#include "state/key_groups.h"

namespace weir {
namespace {

// What is wrong with a number of subtasks; nothing if it can be.
std::string check_subtasks(const std::string& text) {
  const auto number = OptionType<std::uint32_t>::parse(text);
  if (number && *number >= 1 && *number <= parallelism_max) return {};
  return "is '" + text + "' but must be a whole number from 1 to " +
         std::to_string(parallelism_max);
}

// The options that are the same for all jobs, bound to their places.
struct FixedOptions {
  explicit FixedOptions(CommandLine& to) : app("", to.program) {
    const CLI::Validator at_least_one(check_subtasks, "");
    app.set_help_flag();
    app.allow_extras();
    app.add_option("--parallelism", to.parallelism,
                   "subtasks of each step; default: the machine's cores")
        ->type_name("N")
        ->check(at_least_one);
    app.add_option("--max-parallelism", to.max_parallelism,
                   "key groups, the upper limit for rescaling")
        ->type_name("N")
        ->check(at_least_one);
    app.add_option("--name", to.job_name, "name of the job; default: the program's")
        ->type_name("TEXT");
    app.add_flag("--strict", to.settings.strict, "fail at the first record that does not parse");
    app.add_flag_callback(
        "--no-chaining", [&to] { to.chaining = false; }, "run each step as an actor of its own");
    app.add_flag("--explain", to.explain, "print the plans and stop");
    app.add_option("--cluster", to.cluster, "run on the cluster of this master instead of here")
        ->type_name("HOST:PORT");
    app.add_flag("--detached", to.detached, "with --cluster: submit, print the job's id and stop");
    app.add_option("--secret-file", to.secret_file, "the cluster's secret")->type_name("FILE");
    app.add_option("--slot-timeout", slot_timeout,
                   "how long the job may wait for free slots; default: 5m")
        ->type_name("TIME");
    checkpoints.add_to(app);
    app.add_option("--log-level", log_level, "debug, info, warning, error or off; default: warning")
        ->type_name("LEVEL");
    app.add_option("--log-file", to.log_file, "log there; default: standard error")
        ->type_name("FILE");
    app.add_option("--config", config, "read options from a TOML file; the command line wins")
        ->type_name("FILE");
    app.add_flag("--help,-h", to.help, "print this and stop");
    app.add_flag("--version", to.version, "print the version and stop");
  }

  CLI::App app;
  CheckpointOptions checkpoints;
  std::string slot_timeout;
  std::string log_level;
  std::string config;
};

Error usage(std::string message) {
  return {Errc::bad_option, std::move(message)};
}

// Runs CLI11, whose failures are exceptions.
Result<void> parse(FixedOptions& fixed, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // as CLI11 wants a vector
  try {
    fixed.app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    return usage(e.what());
  }
  return {};
}

// What CLI11 did not know, as --name value, --name=value, or --name alone.
Result<std::map<std::string, GivenOption>> read_extras(const std::vector<std::string>& extras) {
  std::map<std::string, GivenOption> options;
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const std::string& argument = extras[i];
    if (!argument.starts_with("--") || argument.size() == 2) {
      return usage("argument '" + argument + "' is unexpected: options are written --name value");
    }
    const std::size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < extras.size() && !extras[i + 1].starts_with("--")) {
      value = extras[++i];
    }
    if (!options.emplace(name, GivenOption{std::move(value)}).second) {
      return usage("option --" + name + " is given more than once");
    }
  }
  return options;
}

// Options that are given without a value.
bool is_fixed_flag(const std::string& option) {
  return option == "--strict" || option == "--detached" || option == "--no-chaining" ||
         option == "--explain" || option == "--help" || option == "--version";
}

// The keys of a TOML file as arguments --name=value.
Result<std::vector<std::string>> read_config(const std::string& path) {
  std::vector<std::string> arguments;
  if (std::filesystem::is_directory(path)) return usage(path + ": is a directory, not a TOML file");
  try {
    const toml::table table = toml::parse_file(path);
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (name.empty() || name.find('=') != std::string::npos) {
        return usage(path + ": key '" + name + "' is no name of an option");
      }
      const std::string option = "--" + name;
      if (const auto* flag = value.as_boolean()) {
        if (is_fixed_flag(option)) {
          if (flag->get()) arguments.push_back(option);
        } else {
          arguments.push_back(option + (flag->get() ? "=true" : "=false"));
        }
      } else if (const auto text = value.value_exact<std::string>()) {
        arguments.push_back(option + "=" + *text);
      } else if (const auto number = value.value_exact<std::int64_t>()) {
        arguments.push_back(option + "=" + std::to_string(*number));
      } else if (const auto real = value.value_exact<double>()) {
        char shortest[64];
        const auto end = std::to_chars(shortest, shortest + sizeof shortest, *real).ptr;
        arguments.push_back(option + "=" + std::string(shortest, end));
      } else {
        return usage(path + ": key '" + name + "' must be a text, a number, true or false");
      }
    }
  } catch (const toml::parse_error& e) {
    const auto line = e.source().begin.line;  // 0: the file could not even be opened
    return usage(path + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                 std::string(e.description()));
  }
  return arguments;
}

// Arguments of the file whose options the command line does not give itself.
std::vector<std::string> not_overridden(const std::vector<std::string>& of_file,
                                        const std::vector<std::string>& of_command_line) {
  std::set<std::string> given;
  for (const std::string& argument : of_command_line)
    given.insert(argument.substr(0, argument.find('=')));
  std::vector<std::string> result;
  for (const std::string& argument : of_file) {
    if (!given.contains(argument.substr(0, argument.find('=')))) result.push_back(argument);
  }
  return result;
}

}  // namespace

std::string program_name(int argc, const char* const* argv) {
  return argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "job";
}

Result<CommandLine> read_command_line(int argc, const char* const* argv,
                                      std::uint32_t default_parallelism) {
  CommandLine line;
  line.program = program_name(argc, argv);
  line.job_name = line.program;
  line.parallelism = default_parallelism;
  std::vector<std::string> arguments(argv + std::min(1, argc), argv + argc);

  std::string config;
  {
    CommandLine ignored = line;
    FixedOptions first(ignored);
    WEIR_TRY(parse(first, arguments));
    config = first.config;
  }
  std::vector<std::string> added;
  if (!config.empty()) {
    auto of_file = read_config(config);
    if (!of_file) return of_file.error();
    added = not_overridden(*of_file, arguments);
    arguments.insert(arguments.begin(), added.begin(), added.end());
  }

  FixedOptions fixed(line);
  WEIR_TRY(parse(fixed, arguments));
  if (!fixed.log_level.empty()) {
    const auto level = parse_log_level(fixed.log_level);
    if (!level) {
      return usage("--log-level is '" + fixed.log_level +
                   "' but must be debug, info, warning, error or off");
    }
    line.log_level = *level;
  }
  if (!fixed.slot_timeout.empty()) {
    const auto timeout = parse_duration(fixed.slot_timeout);
    if (!timeout)
      return usage("--slot-timeout is '" + fixed.slot_timeout + "' but " + timeout.error().message);
    line.settings.slot_timeout = *timeout;
  }
  WEIR_TRY(fixed.checkpoints.read(line.settings));
  auto extras = read_extras(fixed.app.remaining());
  if (!extras) return extras.error();
  line.job_options = *std::move(extras);
  for (auto& [name, given] : line.job_options) {
    const bool from_file = std::ranges::any_of(added, [&name](const std::string& argument) {
      return argument.starts_with("--" + name + "=");
    });
    if (from_file) given.file = config;
  }
  return line;
}

std::string help_text(const CommandLine& command_line, const std::vector<DeclaredOption>& of_job) {
  CommandLine ignored = command_line;
  FixedOptions fixed(ignored);
  std::string value;
  for (const DeclaredOption& option : of_job) {
    std::string help = option.help + " (" + option.type;
    if (!option.default_text.empty()) help += "; default: " + option.default_text;
    help += option.required ? "; required)" : ")";
    fixed.app.add_option("--" + option.name, value, help)
        ->type_name("")
        ->group("Options of this job");
  }
  fixed.app.get_formatter()->column_width(28);
  return fixed.app.help();
}

}  // namespace weir
