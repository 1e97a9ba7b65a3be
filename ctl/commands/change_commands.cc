#include <fmt/format.h>

#include <memory>
#include <utility>

#include "ctl/commands/commands.h"
#include "ctl/support/arguments.h"
#include "ctl/support/files.h"
#include "ctl/support/key_text.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

struct ChangeArguments {
  std::string key;
  std::string file;
  std::uint64_t offset = 0;
};

Ending Say(const GlobalOptions& global, const std::string& key,
           const Result<ObjectInfo>& info) {
  if (!info) return info.error();
  if (global.json) return PrintDone(Line(ObjectJson(key, *info)));
  return PrintDone(fmt::format("{}: {}\n", KeyText(key), ObjectText(*info)));
}

Ending Update(const GlobalOptions& global, const ChangeArguments& arguments) {
  Result<Input> input = Input::Open(arguments.file);
  if (!input) return input.error();
  auto client = OpenClient(global);
  if (!client) return client.error();
  // One atomic change: all its bytes have to be here before it begins.
  const Result<std::vector<std::byte>> bytes = input->ReadAll();
  if (!bytes) return bytes.error();
  const Result<ObjectInfo> updated = [&] {
    const Progress progress("update " + KeyText(arguments.key));
    return (*client)->Update(arguments.key, arguments.offset, *bytes);
  }();
  return Say(global, arguments.key, updated);
}

Ending Append(const GlobalOptions& global, const ChangeArguments& arguments) {
  Result<Input> input = Input::Open(arguments.file);
  if (!input) return input.error();
  auto client = OpenClient(global);
  if (!client) return client.error();
  const Result<ObjectInfo> appended = [&] {
    Progress progress("append " + KeyText(arguments.key), input->size());
    return (*client)->Append(arguments.key, [&](std::span<std::byte> into) {
      Result<std::size_t> got = input->Read(into);
      if (got) progress.Advance(*got);
      return got;
    });
  }();
  return Say(global, arguments.key, appended);
}

Ending Remove(const GlobalOptions& global, const ChangeArguments& arguments) {
  auto client = OpenClient(global);
  if (!client) return client.error();
  const Status removed = (*client)->Delete(arguments.key);
  if (!removed.ok()) return removed;
  if (global.json) {
    Json json = KeyJson(arguments.key);
    json["removed"] = true;
    return PrintDone(Line(json));
  }
  return PrintDone(KeyText(arguments.key) + ": removed\n");
}

using Action = Ending (*)(const GlobalOptions&, const ChangeArguments&);

// The part that the three have in common.
CLI::App* Add(CLI::App& app, Command& chosen, const char* name,
              const char* description, Action action,
              const std::shared_ptr<ChangeArguments>& arguments) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("KEY", arguments->key)->required()->transform(IsKey());
  command->callback([&chosen, arguments, action] {
    chosen.run = [&chosen, arguments, action] {
      return action(chosen.global, *arguments);
    };
  });
  return command;
}

}  // namespace

void AddChanges(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<ChangeArguments>();
  CLI::App* update =
      Add(app, chosen, "update", "Overwrites bytes in the middle of a value",
          Update, arguments);
  update->add_option("FILE", arguments->file, "- for standard input")
      ->required();
  update
      ->add_option("--offset", arguments->offset,
                   "Where the bytes go, counted from 0")
      ->required()
      ->check(CLI::Range(kMaxValueBytes))
      ->type_name("N");
  update->footer("Example: printf new | ersctl update notes --offset 100 -");

  CLI::App* append = Add(app, chosen, "append",
                         "Adds bytes at the end of a value", Append, arguments);
  append->add_option("FILE", arguments->file, "- for standard input")
      ->required();
  append->footer("Example: date | ersctl append log -");

  CLI::App* remove =
      Add(app, chosen, "rm", "Removes an object", Remove, arguments);
  remove->footer("Example: ersctl rm photo");
}

}  // namespace ers::ctl
