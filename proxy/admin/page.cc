#include "admin/page.h"

#include <fmt/format.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

#include "page_text.h"  // made of proxy/admin/page/ at build

namespace ers::proxy {
namespace {

// In the page, where the number goes that only its own script and style have.
constexpr std::string_view kNonce = "ERS_NONCE";

std::string DrawNonce() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(),
                     random());
}

}  // namespace

HttpReply OverviewPage() {
  const std::string nonce = DrawNonce();
  HttpReply reply;
  reply.type = "text/html; charset=utf-8";
  reply.body = kPageText;
  for (std::size_t at = reply.body.find(kNonce); at != std::string::npos;
       at = reply.body.find(kNonce, at)) {
    reply.body.replace(at, kNonce.size(), nonce);
  }
  // Nothing from elsewhere, no frame around it, and no text as HTML.
  reply.content_security_policy = fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; "
      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'",
      nonce);
  return reply;
}

}  // namespace ers::proxy
