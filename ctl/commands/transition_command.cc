#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/units.h"
#include "ctl/commands/commands.h"
#include "ctl/support/admin_client.h"
#include "ctl/support/key_text.h"
#include "ctl/support/outcomes.h"
#include "ctl/support/progress.h"
#include "ctl/support/report.h"
#include "ctl/support/selection.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

using std::chrono::steady_clock;

struct TransitionArguments {
  Selection selection;
  std::string to;
  std::string plan = "optimal";
  int parallel = 4;
  std::uint64_t bytes_per_second = 0;  // 0: no limit
};

TransitionVariant VariantOf(const std::string& plan) {
  if (plan == "paper") return TransitionVariant::kPaper;
  if (plan == "no-order") return TransitionVariant::kNoOrder;
  return TransitionVariant::kOptimal;
}

std::string InfoJson(const std::string& key, const TransitionInfo& info) {
  Json json = {{"path", TransitionPathName(info.path)}};
  for (const auto& [name, count] : kBlockTrafficFields) {
    json[std::string(name)] = info.*count;
  }
  json["microseconds"] = info.microseconds;
  json["object"] = ObjectJson(key, info.object);
  return Line(json);
}

std::string InfoText(const std::string& key, const TransitionInfo& info) {
  return fmt::format(
      "{}: {}, by {}: read {} data and {} parity blocks ({}), wrote {} blocks "
      "({}) in {} microseconds\n",
      KeyText(key), ObjectText(info.object), TransitionPathName(info.path),
      info.data_reads, info.parity_reads, cli::BytesText(info.bytes_read),
      info.writes, cli::BytesText(info.bytes_written), info.microseconds);
}

// What a proxy answers, name by name.
std::string AnswerText(const Json& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : answer.items()) {
    rows.push_back(
        {name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return Columns(rows);
}

Ending AtProxy(const GlobalOptions& global, const std::string& key,
               const std::string& to) {
  Json asked = KeyJson(key);
  asked["to"] = to;
  const Result<Json> answer = [&] {
    const Progress progress("transition " + KeyText(key));
    return AskAdmin(global, Method::kPost, "/v1/transition", asked.dump());
  }();
  if (!answer) return answer.error();
  return PrintDone(global.json ? Line(*answer) : AnswerText(*answer));
}

Ending One(const GlobalOptions& global, const TransitionArguments& arguments,
           const TransitionTarget& target) {
  const std::string& key = arguments.selection.keys.front();
  auto client = OpenClient(global);
  if (!client) return client.error();
  const Result<TransitionInfo> info = [&] {
    const Progress progress("transition " + KeyText(key));
    return (*client)->Transition(key, target, VariantOf(arguments.plan));
  }();
  if (!info) return info.error();
  return PrintDone(global.json ? InfoJson(key, *info) : InfoText(key, *info));
}

// Changes objects, a few at a time, each thread with a client of its own.
class Many {
 public:
  Many(const TransitionArguments& arguments, const TransitionTarget& target,
       std::vector<std::string> keys)
      : arguments_(arguments),
        target_(target),
        keys_(std::move(keys)),
        progress_("transition", Progress::Unit::kObjects, keys_.size()) {}

  void Run(std::vector<std::unique_ptr<Client>> clients) {
    std::vector<std::jthread> threads;
    for (std::unique_ptr<Client>& client : clients) {
      threads.emplace_back([this, own = std::move(client)] { RunWith(*own); });
    }
  }

  // When it has run.
  [[nodiscard]] const Outcomes& outcomes() const { return outcomes_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  void RunWith(Client& client) {
    for (;;) {
      const std::size_t at = next_.fetch_add(1);
      if (at >= keys_.size()) return;
      const std::string& key = keys_[at];
      const Result<TransitionInfo> info =
          client.Transition(key, target_, VariantOf(arguments_.plan));
      const Status status =
          info ? Status() : WhyFailed(client, key, info.error());
      progress_.Advance(1);
      // For the rate that is asked for.
      std::this_thread::sleep_until(Count(key, info, status));
    }
  }

  // When the next one may begin.
  steady_clock::time_point Count(const std::string& key,
                                 const Result<TransitionInfo>& info,
                                 const Status& status) {
    const std::lock_guard lock(mutex_);
    outcomes_.Add(key, status, !arguments_.selection.Walks());
    if (!info) return {};
    bytes_read_ += info->bytes_read;
    bytes_written_ += info->bytes_written;
    if (arguments_.bytes_per_second == 0) return {};
    const std::chrono::duration<double> due(
        static_cast<double>(bytes_read_ + bytes_written_) /
        static_cast<double>(arguments_.bytes_per_second));
    return begun_ + std::chrono::duration_cast<steady_clock::duration>(due);
  }

  const TransitionArguments& arguments_;
  const TransitionTarget& target_;
  const std::vector<std::string> keys_;
  const steady_clock::time_point begun_ = steady_clock::now();
  Progress progress_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // of what follows
  Outcomes outcomes_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

Status PrintMany(const GlobalOptions& global, const Many& many) {
  const Outcomes& outcomes = many.outcomes();
  if (global.json) {
    return Print(Line({{"selected", outcomes.selected},
                       {"changed", outcomes.done},
                       {"already", outcomes.already},
                       {"gone", outcomes.gone},
                       {"failed", outcomes.failed},
                       {"bytes_read", many.bytes_read()},
                       {"bytes_written", many.bytes_written()},
                       {"errors", outcomes.ErrorsJson()}}));
  }
  return Print(outcomes.ErrorsText() +
               fmt::format("changed {} of {} ({} read, {} written); {} "
                           "were so already, {} gone, {} failed\n",
                           outcomes.done,
                           proxy::CountText(outcomes.selected, "object"),
                           cli::BytesText(many.bytes_read()),
                           cli::BytesText(many.bytes_written()),
                           outcomes.already, outcomes.gone, outcomes.failed));
}

Ending ChangeMany(const GlobalOptions& global,
                  const TransitionArguments& arguments,
                  const TransitionTarget& target) {
  const auto cluster = OpenCluster(global);
  if (!cluster) return cluster.error();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < arguments.parallel; ++i) {
    auto client = Client::Open(*cluster, {});
    if (!client) return client.error();
    clients.push_back(std::move(*client));
  }
  // A value that gets another scheme leaves its pack.
  const Packs packs = target.scheme ? Packs::kLeftOut : Packs::kTaken;
  auto keys = SelectKeys(*clients.front(), arguments.selection, packs);
  if (!keys) return keys.error();
  Many many(arguments, target, std::move(*keys));
  many.Run(std::move(clients));
  return many.outcomes().End(PrintMany(global, many), "changed");
}

Ending Transition(const GlobalOptions& global,
                  const TransitionArguments& arguments) {
  const Result<TransitionTarget> target = ParseTransitionTarget(arguments.to);
  if (!target) return target.error();
  const Selection& selection = arguments.selection;
  const Status fits = CheckSelection(selection);
  if (!fits.ok()) return fits;
  const bool one = !selection.Walks() && selection.keys.size() == 1;
  if (!one) return ChangeMany(global, arguments, *target);
  // It knows the optimal plan alone.
  if (!global.proxy.empty() && arguments.plan == "optimal") {
    return AtProxy(global, selection.keys.front(), arguments.to);
  }
  return One(global, arguments, *target);
}

}  // namespace

void AddTransition(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<TransitionArguments>();
  CLI::App* transition = app.add_subcommand(
      "transition", "Changes the width, scheme or parity of objects, in place");
  AddSelection(*transition, arguments->selection);
  transition
      ->add_option("--to", arguments->to,
                   "narrow, wide or data blocks of a stripe, with ,M for as "
                   "many parity blocks (same,M: of the width that it has); or "
                   "any scheme")
      ->required()
      ->type_name("TARGET");
  transition
      ->add_option("--plan", arguments->plan,
                   "optimal (default), paper or no-order")
      ->check(CLI::IsMember({"optimal", "paper", "no-order"}))
      ->type_name("PLAN");
  transition
      ->add_option("--parallel", arguments->parallel,
                   "Of many objects so many at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  transition
      ->add_option("--rate", arguments->bytes_per_second,
                   "Of many objects: bytes a second that are read and written "
                   "(default: no limit)")
      ->transform(cli::AsBytes())
      ->type_name("BYTES");
  transition->footer(
      "Many objects are changed from here; a job of an ersproxy (job start) "
      "goes on alone.\n"
      "Examples: ersctl transition photo --to wide --json\n"
      "          ersctl transition --to wide --prefix 2025/ --rate 50MB/s");
  transition->callback([&chosen, arguments] {
    chosen.run = [&chosen, arguments] {
      return Transition(chosen.global, *arguments);
    };
  });
}

}  // namespace ers::ctl
