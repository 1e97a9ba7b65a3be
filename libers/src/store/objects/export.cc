// Export: an object's value goes on as a plain memcached item.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/blocks/dropping.h"
#include "store/commit/change.h"
#include "store/commit/current.h"
#include "store/format/keys.h"
#include "store/membership/slots.h"
#include "store/objects/packed_value.h"
#include "store/objects/store.h"

namespace ers::store {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const Manifest>;

// memcached's own part of an item: header, CAS, flags and ends of key and
// value.
constexpr std::uint64_t kItemBytes = 63;

Status CheckKey(std::string_view key) {
  if (ManifestKey(key) == key) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("key '{}' cannot be a plain item's: it begins with {} or "
                      "holds blanks",
                      key, kReservedPrefix)};
}

// The servers' words, before anything is read. A server that was not talked to
// yet says it later.
Status CheckSize(Session& session, const Manifest& manifest, int member) {
  const net::ServerLink& link = session.link(member);
  const std::uint64_t limit = link.facts().item_size_max;
  const bool known = link.state() == net::ServerLink::State::kUp;
  if (!known || manifest.length + manifest.key.size() + kItemBytes <= limit) {
    return {};
  }
  return {StatusCode::kTooLarge,
          fmt::format("{} takes items of {} bytes, and the value has {}: raise "
                      "its item limit (-I), or shorten the value",
                      session.member_name(member), limit, manifest.length)};
}

// Would a plain item of these bytes be taken for what it is?
Status CheckValue(std::string_view key, std::string_view value) {
  if (!BeginsAsManifest(value)) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("the value of key '{}' begins as manifests of this "
                      "library do: as a plain item it would be taken for one; "
                      "take it out with get",
                      key)};
}

// Plain clients make their ring of the servers' addresses; where a server was
// replaced, that is another one.
Status CheckPlace(Session& session, std::string_view key) {
  const std::shared_ptr<const View> view = session.view();
  std::vector<net::Endpoint> servers;
  std::string replaced;
  for (const Member& member : view->members) {
    servers.push_back(EndpointOf(member));
    if (!member.address.empty()) replaced = member.name;
  }
  if (replaced.empty()) return {};
  const int ours = session.ring().Walk(key, 1).front();
  const int theirs = net::Ring(servers, view->placement).Walk(key, 1).front();
  if (ours == theirs) return {};
  return {StatusCode::kUnavailable,
          fmt::format("key '{}': as a plain item it would be on {}, and plain "
                      "clients would ask {}, as {} was replaced: give its "
                      "place to a server at that address again first",
                      key, session.member_name(ours),
                      session.member_name(theirs), replaced)};
}

std::string_view Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

PlainForm FormOf(const Manifest& manifest, int member,
                 const std::vector<std::byte>& value) {
  return {member, Text(value), manifest.client_flags, manifest.expiry};
}

// `tried` (null: none): of the last try that may have come to its end, or half
// way.
Status WhyFailed(const Status& why, const ManifestPtr& tried) {
  if (!tried) return why;
  return {StatusCode::kOutcomeUnknown,
          fmt::format("the export was cut off, and the value is an object or a "
                      "plain item: export it again ({})",
                      why.message())};
}

// There is no object to be read, for the reason `why`: that may be `tried`.
Result<ObjectInfo> WithoutObject(Session& session, std::string_view key,
                                 const Status& why, const ManifestPtr& tried) {
  const bool plain = why.code() == StatusCode::kNotManaged;
  const bool gone = why.code() == StatusCode::kNotFound;
  if (!plain && !gone) return Fail(WhyFailed(why, tried));
  if (tried) DropReplaced(session, tried, nullptr);
  if (plain && tried) return InfoOf(*tried);
  if (gone) return Fail(why);
  return Fail(StatusCode::kAlreadyThere,
              fmt::format("key '{}' is a plain item already", key));
}

}  // namespace

Task<Result<ObjectInfo>> Store::Export(std::string_view key, ExportMode mode) {
  Status status = CheckKey(key);
  if (!status.ok()) co_return Fail(std::move(status));
  CurrentManifest current(session_, key, steps_);
  status = co_await current.Begin();
  if (!status.ok()) co_return Fail(std::move(status));
  status = CheckPlace(session_, key);
  if (!status.ok()) co_return Fail(std::move(status));
  session_.manifests().Erase(key);  // the primary says what there is
  Exporter& exporter = current.replica_set().exporter();
  const int member = session_.ring().Walk(key, 1).front();
  ManifestPtr tried;
  for (;;) {
    Result<ManifestPtr> base = co_await current.Next();
    if (!base) co_return WithoutObject(session_, key, base.error(), tried);
    status = CheckSize(session_, **base, member);
    if (!status.ok()) co_return Fail(std::move(status));
    const Result<std::vector<std::byte>> value =
        co_await ReadValue(session_, *base, steps_);
    if (!value) {
      if (current.MayRetry(value.error())) continue;
      co_return Fail(WhyFailed(value.error(), tried));
    }
    const PlainForm form = FormOf(**base, member, *value);
    status = CheckValue(key, form.value);
    if (!status.ok()) co_return Fail(std::move(status));
    const ChangeId base_id = (*base)->id;
    if (mode == ExportMode::kCheckOnly) {
      const Result<bool> fits = co_await exporter.Check(base_id, form);
      if (!fits) co_return Fail(fits.error());
      if (*fits) co_return InfoOf(**base);
      continue;
    }
    Result<std::optional<ReplicasRead>> prepared =
        co_await exporter.Prepare(base_id, form);
    if (!prepared) co_return Fail(WhyFailed(prepared.error(), tried));
    session_.manifests().Erase(key);
    if (!*prepared) continue;
    const CommitResult result = co_await exporter.Commit(**prepared, form);
    if (result.fate == CommitFate::kCommitted) {
      session_.counters().commits.Add();
      DropReplaced(session_, *base, nullptr);
      co_return InfoOf(**base);
    }
    if (!result.status.ok()) co_return Fail(result.status);
    if (result.fate == CommitFate::kUnknown) tried = *base;
  }
}

}  // namespace ers::store
