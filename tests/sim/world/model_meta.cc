// The meta commands of ModelServer.
#include <utility>

#include "sim/world/model_parse.h"
#include "sim/world/model_server.h"

namespace ers::sim {
namespace {

constexpr std::size_t kMaxOpaqueBytes = 32;

// Checks letters against `known` and for repeats, as the real one does before
// it reads any of them. Empty: fine.
template <typename Tokens>
std::string_view CheckFlags(const Tokens& tokens, std::size_t first,
                            std::string_view known) {
  std::uint64_t seen[2] = {0, 0};
  for (std::size_t i = first; i < tokens.count; ++i) {
    const auto letter = static_cast<unsigned char>(tokens.at[i][0]);
    if (letter > 127) return "CLIENT_ERROR invalid flag";
    const std::uint64_t bit = std::uint64_t{1} << (letter & 63);
    if ((seen[letter >> 6] & bit) != 0) return "CLIENT_ERROR duplicate flag";
    seen[letter >> 6] |= bit;
    if (known.find(tokens.at[i][0]) == std::string_view::npos) {
      return "CLIENT_ERROR invalid flag";
    }
    if (letter == 'O' && tokens.at[i].size() > kMaxOpaqueBytes) {
      return "CLIENT_ERROR opaque token too long";
    }
  }
  return {};
}

void EchoKeyAndOpaque(std::string& out, std::string_view key,
                      std::string_view flag) {
  if (flag[0] == 'k') {
    out += " k";
    out += key;
  } else if (flag[0] == 'O') {
    out += ' ';
    out += flag;
  }
}

}  // namespace

void ModelServer::MetaGet(Session& session, const Tokens& tokens,
                          std::string& out) {
  const std::string_view key = tokens.at[1];
  std::string_view error = CheckFlags(tokens, 2, "vcftskqONTuhl");
  bool quiet = false;
  bool with_value = false;
  bool vivify = false;
  bool touches = false;
  bool counts = true;
  for (std::size_t i = 2; error.empty() && i < tokens.count; ++i) {
    const char letter = tokens.at[i][0];
    quiet |= letter == 'q';
    with_value |= letter == 'v';
    vivify |= letter == 'N';
    touches |= letter == 'T';
    counts &= letter != 'u';
    std::int32_t number = 0;
    if ((letter == 'N' || letter == 'T') &&
        !ParseNumber(tokens.at[i].substr(1), &number)) {
      error = kBadToken;
    }
  }
  if (!error.empty()) {
    out += error;
    out += "\r\n";
    return;
  }
  ModelItem* item = items_->Find(key);
  const bool created = item == nullptr && vivify;
  if (created && !(out_of_memory && out_of_memory(key))) {
    item = &items_->Put(key, ModelItem{});
  }
  if (item == nullptr) {
    if (quiet) return;
    out += "EN";
    for (std::size_t i = 2; i < tokens.count; ++i) {
      EchoKeyAndOpaque(out, key, tokens.at[i]);
    }
    out += "\r\n";
    return;
  }
  MetaHit(tokens, *item, created, with_value, out);
  // The first access shows as "fetch" alone.
  if (counts && item->fetched) item->accessed = items_->Now();
  item->fetched |= counts;
  session.has_token = false;
  if (created) Report(session, "vivify", key, {}, true, "W");
  if (touches) Report(session, "touch", key, {}, true, "HD");
}

void ModelServer::MetaHit(const Tokens& tokens, ModelItem& item, bool created,
                          bool with_value, std::string& out) {
  out += with_value ? "VA " + std::to_string(item.value.size()) : "HD";
  bool won = false;
  // In the order of the flags: a T or N changes what a later t shows.
  for (std::size_t i = 2; i < tokens.count; ++i) {
    const std::string_view flag = tokens.at[i];
    std::int64_t number = 0;
    switch (flag[0]) {
      case 'T':
        if (ParseNumber(flag.substr(1), &number)) {
          item.expires = items_->ExpiryOf(number);
        }
        break;
      case 'N':
        won |= created;
        if (created && ParseNumber(flag.substr(1), &number)) {
          item.expires = items_->ExpiryOf(number);
        }
        break;
      case 's':
        out += " s" + std::to_string(item.value.size());
        break;
      case 't':
        out += item.expires == 0
                   ? " t-1"
                   : " t" + std::to_string(item.expires - items_->Now());
        break;
      case 'c':
        out += " c" + std::to_string(item.cas);
        break;
      case 'f':
        out += " f" + std::to_string(item.flags);
        break;
      case 'h':
        out += item.fetched ? " h1" : " h0";
        break;
      case 'l':
        out += " l" + std::to_string(items_->Now() - item.accessed);
        break;
      default:
        EchoKeyAndOpaque(out, tokens.at[1], flag);
    }
  }
  if (item.token_sent) out += " Z";
  if (item.stale) {
    out += " X";
    won |= !item.token_sent;
  }
  if (won) {
    out += " W";
    item.token_sent = true;
  }
  out += "\r\n";
  if (with_value) {
    out += item.value;
    out += "\r\n";
  }
}

void ModelServer::MetaSet(Session& session, const Tokens& tokens,
                          std::string& out) {
  std::int32_t bytes = 0;
  if (tokens.count < 3 || !ParseNumber(tokens.at[2], &bytes) || bytes < 0) {
    out += kBadFormat;
    out += "\r\n";
    return;
  }
  session.verb = "ms";
  session.key = tokens.at[1];
  session.bytes = static_cast<std::size_t>(bytes);
  session.flags = 0;
  session.exptime = 0;
  session.token = 0;
  session.has_token = false;
  session.mode = 'S';
  session.quiet = false;
  session.echo.clear();
  std::string_view error = CheckFlags(tokens, 3, "TFCMckqO");
  std::string opaque;
  for (std::size_t i = 3; error.empty() && i < tokens.count; ++i) {
    const std::string_view flag = tokens.at[i];
    const std::string_view argument = flag.substr(1);
    std::int32_t exptime = 0;
    std::uint64_t number = 0;
    switch (flag[0]) {
      case 'T':
        if (!ParseNumber(argument, &exptime)) error = kBadToken;
        session.exptime = exptime;
        break;
      case 'F':
        if (!ParseNumber(argument, &number)) error = kBadFormat;
        session.flags = static_cast<std::uint32_t>(number);
        break;
      case 'C':
        if (!ParseNumber(argument, &session.token)) error = kBadToken;
        session.has_token = true;
        break;
      case 'M':
        session.mode = argument.empty() ? '?' : argument[0];
        if (session.mode != 'S' && session.mode != 'E' && session.mode != 'R') {
          error = "CLIENT_ERROR invalid mode for ms M token";
        }
        break;
      case 'q':
        session.quiet = true;
        break;
      case 'O':
        opaque = flag;
        break;
      default:
        session.echo += flag[0];
    }
  }
  // The echo keeps its order but for O, which every caller here puts last.
  session.echo += opaque;
  if (!error.empty()) {
    session.swallow = session.bytes + 2;
    session.after_swallow = std::string(error) + "\r\n";
    return;
  }
  BeginStore(session);
}

void ModelServer::MetaDelete(Session& session, const Tokens& tokens,
                             std::string& out) {
  const std::string_view key = tokens.at[1];
  bool quiet = false;
  bool invalidate = false;
  bool bad = !CheckFlags(tokens, 2, "CTIkqO").empty();
  std::int32_t exptime = 0;
  bool has_exptime = false;
  session.has_token = false;
  for (std::size_t i = 2; !bad && i < tokens.count; ++i) {
    const std::string_view argument = tokens.at[i].substr(1);
    switch (tokens.at[i][0]) {
      case 'C':
        session.has_token = true;
        bad = !ParseNumber(argument, &session.token);
        break;
      case 'T':
        has_exptime = true;
        bad = !ParseNumber(argument, &exptime);
        break;
      case 'I':
        invalidate = true;
        break;
      case 'q':
        quiet = true;
        break;
      default:
        break;
    }
  }
  if (bad) {
    out += "CLIENT_ERROR invalid or duplicate flag\r\n";
    return;
  }
  ModelItem* item = items_->Find(key);
  std::string_view reply = "HD";
  if (item == nullptr) {
    reply = "NF";
  } else if (session.has_token && item->cas != session.token) {
    reply = "EX";
  } else if (invalidate) {
    if (has_exptime) item->expires = items_->ExpiryOf(exptime);
    item->token_sent = false;
    item->stale = true;
    item->cas = items_->NextCas();
  } else {
    items_->Erase(key);
  }
  Report(session, "md", key, {}, reply == "HD", reply);
  if (quiet && reply == "HD") return;
  out += reply;
  for (std::size_t i = 2; i < tokens.count; ++i) {
    EchoKeyAndOpaque(out, key, tokens.at[i]);
  }
  out += "\r\n";
}

}  // namespace ers::sim
