#include "sim/world/model_server.h"

#include <utility>

#include "sim/world/model_parse.h"

namespace ers::sim {
namespace {

constexpr std::string_view kEndOfLine = "\r\n";
// Larger items are stored in pieces, and fail for memory while being read.
constexpr std::size_t kPieceBytes = 512 * 1024;

void Line(std::string& out, std::string_view text) {
  out += text;
  out += kEndOfLine;
}

std::string UrlEncode(std::string_view key) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (const char c : key) {
    if (kPlain.find(c) != std::string_view::npos) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

}  // namespace

ModelServer::ModelServer(ModelServerOptions options, int pid,
                         std::function<std::int64_t()> wall_seconds)
    : options_(std::move(options)),
      pid_(pid),
      wall_seconds_(std::move(wall_seconds)),
      items_(std::make_unique<ModelItems>(wall_seconds_)) {}

void ModelServer::Boot(int pid) {
  pid_ = pid;
  items_ = std::make_unique<ModelItems>(wall_seconds_);
}

void ModelServer::Feed(Session& session, std::string_view bytes,
                       std::string& out) {
  if (session.closed) return;
  session.in += bytes;
  while (!session.closed && Advance(session, out)) {
  }
  if (session.head == session.in.size()) {
    session.in.clear();
    session.head = 0;
  } else if (session.head > (1 << 16)) {
    session.in.erase(0, session.head);
    session.head = 0;
  }
}

bool ModelServer::Advance(Session& session, std::string& out) {
  const std::string_view rest =
      std::string_view(session.in).substr(session.head);
  if (session.swallow > 0) {
    const std::size_t now =
        std::min<std::uint64_t>(session.swallow, rest.size());
    session.swallow -= now;
    session.head += now;
    if (session.swallow > 0) return false;
    out += std::exchange(session.after_swallow, {});
    return true;
  }
  if (session.storing) {
    if (rest.size() < session.bytes + 2) return false;
    session.head += session.bytes + 2;
    session.storing = false;
    FinishStore(session, rest.substr(0, session.bytes + 2), out);
    return true;
  }
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  session.head += end + 1;
  std::string_view line = rest.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  Command(session, line, out);
  return true;
}

ModelServer::Tokens ModelServer::Split(std::string_view line) {
  Tokens tokens;
  std::size_t at = 0;
  while (tokens.count < kMaxTokens) {
    while (at < line.size() && line[at] == ' ') ++at;
    if (at == line.size()) break;
    const std::size_t end = std::min(line.find(' ', at), line.size());
    tokens.at[tokens.count++] = line.substr(at, end - at);
    at = end;
  }
  return tokens;
}

void ModelServer::Command(Session& session, std::string_view line,
                          std::string& out) {
  const Tokens tokens = Split(line);
  if (tokens.count == 0) return Line(out, "ERROR");
  const std::string_view name = tokens.at[0];
  if (name == "mn") return Line(out, "MN");
  if (name == "mg" || name == "ms" || name == "md") {
    if (tokens.count < 2) return Line(out, "ERROR");
    if (tokens.at[1].size() > kMaxKeyBytes) return Line(out, kBadFormat);
    if (name == "mg") return MetaGet(session, tokens, out);
    if (name == "ms") return MetaSet(session, tokens, out);
    return MetaDelete(session, tokens, out);
  }
  TextCommand(session, tokens, out);
}

void ModelServer::TextCommand(Session& session, const Tokens& tokens,
                              std::string& out) {
  const std::string_view name = tokens.at[0];
  const std::size_t count = tokens.count;
  if (name == "get" || name == "gets") {
    if (count < 2) return Line(out, "ERROR");
    TextGet(tokens, name == "gets", out);
  } else if (name == "set" || name == "add" || name == "replace" ||
             name == "cas") {
    TextStore(session, tokens, out);
  } else if (name == "delete" && count >= 2 && count <= 4) {
    TextDelete(session, tokens, out);
  } else if (name == "touch" && (count == 3 || count == 4)) {
    TextTouch(session, tokens, out);
  } else if (name == "version") {
    Line(out, "VERSION " + options_.version);
  } else if (name == "verbosity" && count >= 2) {
    Line(out, "OK");
  } else if (name == "flush_all" && count <= 3) {
    FlushAll(session, tokens, out);
  } else if (name == "stats") {
    Stats(tokens, out);
  } else if (name == "watch" && tokens.count == 2 &&
             tokens.at[1] == "evictions") {
    session.watches = true;
    Line(out, "OK");
  } else if (name == "lru_crawler") {
    Crawler(tokens, out);
  } else if (name == "quit") {
    session.closed = true;
  } else {
    Line(out, "ERROR");
  }
}

void ModelServer::Report(const Session& session, std::string_view verb,
                         std::string_view key, std::string_view value,
                         bool applied, std::string_view reply) const {
  if (!on_applied) return;
  AppliedCommand command;
  command.session = session.id;
  command.verb = verb;
  command.key = key;
  command.value = value;
  command.token_given = session.has_token ? session.token : 0;
  command.applied = applied;
  command.reply = reply;
  on_applied(command);
}

void ModelServer::TextGet(const Tokens& tokens, bool with_token,
                          std::string& out) {
  for (std::size_t i = 1; i < tokens.count; ++i) {
    const std::string_view key = tokens.at[i];
    if (key.size() > kMaxKeyBytes) return Line(out, kBadFormat);
    const ModelItem* item = items_->Find(key);
    if (item == nullptr) continue;
    out += "VALUE ";
    out += key;
    out += ' ' + std::to_string(item->flags) + ' ' +
           std::to_string(item->value.size());
    if (with_token) out += ' ' + std::to_string(item->cas);
    out += kEndOfLine;
    Line(out, item->value);
  }
  Line(out, "END");
}

void ModelServer::TextStore(Session& session, const Tokens& tokens,
                            std::string& out) {
  const bool is_cas = tokens.at[0] == "cas";
  const std::size_t least = is_cas ? 6 : 5;
  if (tokens.count < least || tokens.count > least + 1) {
    return Line(out, "ERROR");
  }
  std::uint64_t flags = 0;
  std::int64_t bytes = 0;
  session.verb = tokens.at[0];
  session.token = 0;
  session.has_token = is_cas;
  if (tokens.at[1].size() > kMaxKeyBytes ||
      !ParseNumber(tokens.at[2], &flags) ||
      !ParseNumber(tokens.at[3], &session.exptime) ||
      !ParseNumber(tokens.at[4], &bytes) || bytes < 0 ||
      (is_cas && !ParseNumber(tokens.at[5], &session.token))) {
    return Line(out, kBadFormat);
  }
  session.key = tokens.at[1];
  session.flags = static_cast<std::uint32_t>(flags);
  session.bytes = static_cast<std::size_t>(bytes);
  session.quiet = tokens.count > least && tokens.at[least] == "noreply";
  session.echo.clear();
  session.mode = tokens.at[0] == "add"       ? 'E'
                 : tokens.at[0] == "replace" ? 'R'
                                             : 'S';
  BeginStore(session);
}

void ModelServer::Refuse(Session& session, std::string_view reply) {
  session.swallow = session.bytes + 2;
  session.after_swallow.clear();
  if (!session.quiet || session.verb == "ms") {
    Line(session.after_swallow, reply);
  }
  // The item already there is stale: "set" and any "ms" drop it.
  if (session.verb == "ms" || session.verb == "set") {
    items_->Erase(session.key);
  }
  Report(session, session.verb, session.key, {}, false, "SERVER_ERROR");
}

void ModelServer::BeginStore(Session& session) {
  const std::size_t whole =
      ModelItems::StoredBytes(session.key.size(), session.bytes, session.flags);
  if (whole > options_.item_size_max) {
    return Refuse(session, "SERVER_ERROR object too large for cache");
  }
  if (out_of_memory && whole <= kPieceBytes && out_of_memory(session.key)) {
    return Refuse(session, "SERVER_ERROR out of memory storing object");
  }
  session.storing = true;
}

void ModelServer::FinishStore(Session& session, std::string_view value,
                              std::string& out) {
  const bool meta = session.verb == "ms";
  const auto answer = [&](std::string_view text, bool applied,
                          std::uint64_t token) {
    Report(session, session.verb, session.key, value, applied, text);
    if (session.quiet && (!meta || text == "HD")) return;
    out += text;
    for (std::size_t i = 0; i < session.echo.size(); ++i) {
      out += ' ';
      if (session.echo[i] == 'O') {
        out += std::string_view(session.echo).substr(i);
        break;  // kept last, see MetaSet
      }
      out += session.echo[i];
      out += session.echo[i] == 'k' ? session.key : std::to_string(token);
    }
    out += kEndOfLine;
  };
  if (!value.ends_with(kEndOfLine)) {
    // As the real one: what follows is read as a command.
    return Line(out, "CLIENT_ERROR bad data chunk");
  }
  value.remove_suffix(2);
  const std::size_t whole =
      ModelItems::StoredBytes(session.key.size(), session.bytes, session.flags);
  if (whole > kPieceBytes && out_of_memory && out_of_memory(session.key)) {
    return Line(out, "SERVER_ERROR Out of memory during read");
  }
  const ModelItem* old = items_->Find(session.key);
  // Mode add wins over a token, the other modes do not.
  if (session.mode == 'E') {
    if (old != nullptr) return answer(meta ? "NS" : "NOT_STORED", false, 0);
  } else if (session.has_token) {
    if (old == nullptr) return answer(meta ? "NF" : "NOT_FOUND", false, 0);
    if (old->cas != session.token) {
      return answer(meta ? "EX" : "EXISTS", false, 0);
    }
  } else if (session.mode == 'R' && old == nullptr) {
    return answer(meta ? "NS" : "NOT_STORED", false, 0);
  }
  ModelItem item;
  item.value = value;
  item.flags = session.flags;
  item.expires = items_->ExpiryOf(session.exptime);
  const ModelItem& stored = items_->Put(session.key, std::move(item));
  answer(meta ? "HD" : "STORED", true, stored.cas);
}

void ModelServer::TextDelete(Session& session, const Tokens& tokens,
                             std::string& out) {
  if (tokens.at[1].size() > kMaxKeyBytes) return Line(out, kBadFormat);
  const bool quiet = tokens.at[tokens.count - 1] == "noreply";
  if (tokens.count > 2 && tokens.at[2] != "0" &&
      !(tokens.count == 3 && quiet)) {
    return Line(out,
                std::string(kBadFormat) + ".  Usage: delete <key> [noreply]");
  }
  session.has_token = false;
  items_->Find(tokens.at[1]);  // an expired one is not found
  const bool there = items_->Erase(tokens.at[1]);
  Report(session, "delete", tokens.at[1], {}, there,
         there ? "DELETED" : "NOT_FOUND");
  if (!quiet) Line(out, there ? "DELETED" : "NOT_FOUND");
}

void ModelServer::TextTouch(Session& session, const Tokens& tokens,
                            std::string& out) {
  if (tokens.at[1].size() > kMaxKeyBytes) return Line(out, kBadFormat);
  std::int64_t exptime = 0;
  if (!ParseNumber(tokens.at[2], &exptime)) {
    return Line(out, "CLIENT_ERROR invalid exptime argument");
  }
  ModelItem* item = items_->Find(tokens.at[1]);
  if (item != nullptr) item->expires = items_->ExpiryOf(exptime);
  session.has_token = false;
  Report(session, "touch", tokens.at[1], {}, item != nullptr,
         item != nullptr ? "TOUCHED" : "NOT_FOUND");
  if (tokens.count == 4 && tokens.at[3] == "noreply") return;
  Line(out, item != nullptr ? "TOUCHED" : "NOT_FOUND");
}

void ModelServer::FlushAll(Session& session, const Tokens& tokens,
                           std::string& out) {
  const bool quiet =
      tokens.count > 1 && tokens.at[tokens.count - 1] == "noreply";
  std::int64_t delay = 0;
  if (tokens.count > (quiet ? 2U : 1U) && !ParseNumber(tokens.at[1], &delay)) {
    return Line(out, "CLIENT_ERROR invalid exptime argument");
  }
  items_->Flush();
  session.has_token = false;
  Report(session, "flush_all", {}, {}, true, "OK");
  if (!quiet) Line(out, "OK");
}

void ModelServer::Stats(const Tokens& tokens, std::string& out) const {
  const auto stat = [&out](std::string_view name, const std::string& value) {
    out += "STAT ";
    out += name;
    Line(out, " " + value);
  };
  if (tokens.count == 1) {
    const std::uint32_t uptime = items_->Now() - 60;
    stat("pid", std::to_string(pid_));
    stat("uptime", std::to_string(uptime));
    stat("time", std::to_string(items_->Started() + items_->Now()));
    stat("version", options_.version);
    stat("curr_items", std::to_string(items_->size()));
  } else if (tokens.at[1] == "settings") {
    stat("evictions", options_.evictions ? "on" : "off");
    stat("slab_chunk_max", "524288");
    stat("item_size_max", std::to_string(options_.item_size_max));
    if (dump_refused) stat("dump_enabled", dump_refused() ? "no" : "yes");
  } else if (tokens.at[1] == "items") {
    if (options_.evicted_after_s > 0) {
      stat("items:1:evicted", "1");
      stat("items:1:evicted_time", std::to_string(options_.evicted_after_s));
    }
  } else {
    return Line(out, "ERROR");
  }
  Line(out, "END");
}

void ModelServer::Crawler(const Tokens& tokens, std::string& out) {
  if (tokens.count != 3 || tokens.at[1] != "metadump") {
    return Line(out, "ERROR");
  }
  const bool all = tokens.at[2] == "all";
  if (!all && tokens.at[2] != "hash") {
    return Line(out, "BADCLASS invalid class id");
  }
  if (dump_refused && dump_refused()) {
    return Line(out, "ERROR metadump not allowed");
  }
  if (dump_busy && dump_busy()) {
    return Line(out, "BUSY currently processing crawler request");
  }
  for (const std::string& key : items_->LiveKeys()) {
    if (all && dump_misses && dump_misses(key)) continue;
    const ModelItem& item = *items_->Find(key);
    const std::int64_t expires =
        item.expires == 0 ? -1 : items_->Started() + item.expires;
    const std::size_t bytes =
        ModelItems::StoredBytes(key.size(), item.value.size(), item.flags);
    out += "key=" + UrlEncode(key) + " exp=" + std::to_string(expires) +
           " la=" + std::to_string(items_->Started() + item.accessed) +
           " cas=" + std::to_string(item.cas) +
           (item.fetched ? " fetch=yes" : " fetch=no") +
           " cls=1 size=" + std::to_string(bytes) + "\n";
  }
  Line(out, "END");
}

std::string ModelServer::EvictionLine(std::string_view key) {
  const ModelItem& item = *items_->Find(key);
  return "ts=1.5 gid=1 type=eviction key=" + UrlEncode(key) +
         " fetch=" + (item.fetched ? "yes" : "no") +
         " ttl=-1 la=" + std::to_string(items_->Now() - item.accessed) +
         " clsid=1 size=" + std::to_string(item.value.size()) + "\n";
}

}  // namespace ers::sim
