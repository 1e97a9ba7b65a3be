// What is said of command lines that are wrong.
#include "cli/usage.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ers::cli {
namespace {

// What a program with a bit of everything says of `words`; "": they are good.
std::string Said(const std::vector<std::string>& words) {
  CLI::App app("Tries", "tool");
  app.require_subcommand(1, 1);
  app.fallthrough();
  int number = 0;
  double share = 0;
  std::string text;
  bool flag = false;
  app.add_option("--servers", text);
  app.add_option("-m,--most", number)->check(CLI::Range(1, 254));
  app.add_option("--share", share)->check(CLI::Range(0.5, 20.0));
  CLI::App* get = app.add_subcommand("get", "Gets");
  get->add_option("KEY", text)->required();
  get->add_option("COUNT", number);
  get->add_option("--format", text)->check(CLI::IsMember({"csv", "json"}));
  CLI::Option* all = get->add_flag("--all", flag);
  CLI::Option* some = get->add_flag("--some", flag)->excludes(all);
  get->add_flag("--few", flag)->needs(some);
  CLI::App* job = app.add_subcommand("job", "Jobs");
  job->require_subcommand(1, 1);
  job->add_subcommand("start", "Starts")->add_option("--to", text)->required();

  std::vector<const char*> argv = {"tool"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const int argc = static_cast<int>(argv.size());
  try {
    Take(app, argc, argv.data());
  } catch (const CLI::Error& error) {
    return UsageError(app, error, argc, argv.data());
  }
  return "";
}

TEST_CASE("a good command line is no error") {
  CHECK(Said({"get", "key", "--most", "3", "--format=csv"}).empty());
  CHECK(Said({"job", "start", "--to", "-1"}).empty());
}

TEST_CASE("an option that there is not is blamed before its neighbours") {
  const std::string of_get =
      "there is no option --fromat: did you mean --format? (tool get --help "
      "says more)";
  CHECK(Said({"get", "key", "--fromat", "csv"}) == of_get);
  CHECK(Said({"get", "--fromat", "csv", "key"}) == of_get);
  CHECK(Said({"get", "--fromat=csv", "key"}) == of_get);
  CHECK(Said({"get", "--fromat", "csv"}) == of_get);
  CHECK(Said({"--servres", "a:1", "get", "key"}) ==
        "there is no option --servres: did you mean --servers? (tool --help "
        "says more)");
  CHECK(Said({"get", "key", "-q"}) ==
        "there is no option -q (tool get --help says more)");
  CHECK(Said({"job", "start", "--ot", "wide"}) ==
        "there is no option --ot: did you mean --to? (tool job start --help "
        "says more)");
  CHECK(Said({"get", "key", "--max-parity", "2"}) ==
        "there is no option --max-parity: it is --max-failures now (tool get "
        "--help says more)");
}

TEST_CASE("what is like no option or command is not guessed at") {
  CHECK(Said({"get", "key", "--frobnicate"}) ==
        "there is no option --frobnicate (tool get --help says more)");
  CHECK(Said({"frob"}) == "there is no command 'frob' (tool --help says more)");
  // An option of another command would not help here.
  CHECK(Said({"get", "key", "--too"}) ==
        "there is no option --too (tool get --help says more)");
  // A beginning is enough.
  CHECK(Said({"get", "key", "--serv", "a:1"}) ==
        "there is no option --serv: did you mean --servers? (tool get --help "
        "says more)");
}

TEST_CASE("a value that is missing does not make the next word one") {
  CHECK(Said({"get", "key", "--format"}) ==
        "--format needs a value behind it (tool get --help says more)");
  CHECK(Said({"--servers", "--most", "3", "get", "key"}) ==
        "--servers needs a value behind it, and --most follows (if that is the "
        "value: --servers=--most) (tool --help says more)");
}

TEST_CASE("a word in the form of an option is no value") {
  const std::string servers =
      "--servers needs a value behind it, and --all follows (if that is the "
      "value: --servers=--all) (tool get --help says more)";
  CHECK(Said({"get", "key", "--servers", "--all"}) == servers);
  CHECK(Said({"--servers", "--all", "get", "key"}) ==
        "--servers needs a value behind it, and --all follows (if that is the "
        "value: --servers=--all) (tool --help says more)");
  CHECK(Said({"get", "key", "--servers", "--nonsense"}) ==
        "--servers needs a value behind it, and --nonsense follows (if that is "
        "the value: --servers=--nonsense) (tool get --help says more)");
  CHECK(Said({"get", "key", "-m", "--all"}) ==
        "-m needs a value behind it, and --all follows (tool get --help says "
        "more)");
  CHECK(Said({"get", "key", "--servers=--all"}).empty());
  CHECK(Said({"get", "key", "--servers", "-"}).empty());
  CHECK(Said({"get", "--", "--servers", "1"}).empty());
}

TEST_CASE("a value that is empty is none") {
  const std::string servers =
      "--servers: it is empty: give a value, or leave the option out (tool "
      "get --help says more)";
  CHECK(Said({"get", "key", "--servers", ""}) == servers);
  CHECK(Said({"get", "key", "--servers="}) == servers);
  CHECK(Said({"get", "", "--servers", "a:1"}).empty());
}

TEST_CASE("a flag takes no value") {
  CHECK(Said({"get", "key", "--all=much"}) ==
        "--all takes no value (tool get --help says more)");
  CHECK(Said({"get", "key", "--all=true"}).empty());
}

TEST_CASE("commands and arguments that are missing or too many are named") {
  CHECK(Said({}) == "a command is missing (tool --help says more)");
  CHECK(Said({"job"}) == "a command is missing (tool job --help says more)");
  CHECK(Said({"gte", "key"}) ==
        "there is no command 'gte': did you mean get? (tool --help says more)");
  CHECK(Said({"job", "strat"}) ==
        "there is no command 'strat': did you mean start? (tool job --help "
        "says more)");
  CHECK(Said({"get"}) == "KEY is missing (tool get --help says more)");
  CHECK(Said({"job", "start"}) ==
        "--to is missing (tool job start --help says more)");
  CHECK(Said({"get", "key", "1", "more"}) ==
        "'more' is more than this command takes (tool get --help says more)");
  CHECK(Said({"get", "--", "-key", "1", "-x"}) ==
        "'-x' is more than this command takes (tool get --help says more)");
}

TEST_CASE("values that will not do are shown with those that would") {
  const std::string most =
      "--most: '255' is not a number from 1 to 254 (tool get --help says "
      "more)";
  CHECK(Said({"get", "key", "--most", "255"}) == most);
  CHECK(Said({"get", "key", "-m255"}) == most);
  CHECK(Said({"get", "key", "--most", "1.5"}) ==
        "--most: '1.5' is not a whole number from 1 to 254 (tool get --help "
        "says more)");
  CHECK(Said({"get", "key", "--share", "x"}) ==
        "--share: 'x' is not a number from 0.5 to 20 (tool get --help says "
        "more)");
  CHECK(Said({"get", "key", "--format", "xml"}) ==
        "--format: 'xml' is none of csv, json (tool get --help says more)");
  CHECK(Said({"get", "key", "many"}) ==
        "COUNT: 'many' is not a number (tool get --help says more)");
}

TEST_CASE("options that do not go together are both named") {
  CHECK(Said({"get", "key", "--some", "--all"}) ==
        "give --all or --some, not both (tool get --help says more)");
  CHECK(Said({"get", "key", "--few"}) ==
        "--few needs --some beside it (tool get --help says more)");
  CHECK(Said({"get", "key", "--most", "1", "--most", "2"}) ==
        "--most may be given only once (tool get --help says more)");
}

}  // namespace
}  // namespace ers::cli
