// SPDX-License-Identifier: Apache-2.0
//
// One thread, one connection per request: read a header, answer, close; a live stream writes one message after the other and
// reads the next block of the log only when the former one has left.
#include "serve/server.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "invar/report/live.hpp"
#include "invar/report/page.hpp"
#include "serve/request.hpp"

namespace invar::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr int kConnections = 16;                // more are refused, and twice as many not even answered
constexpr std::uint32_t kLongestHeader = 8192;  // bytes
constexpr std::size_t kLongestMessage = 1024;   // from a page, bytes
constexpr int kSendBuffer = 256 << 10;          // what the system holds for a client that does not read, bytes
constexpr seconds kForRequest{5}, kForAnswer{30}, kForFarewell{1}, kForPong{60};
constexpr milliseconds kLookAgain{50};

// What connections and the thread of the run share.
struct Shared {
  explicit Shared(Shown s) : shown(std::move(s)) {}
  void touch() { touched = Clock::now().time_since_epoch().count(); }
  Clock::duration quiet() const { return Clock::now().time_since_epoch() - Clock::duration(touched.load()); }

  const Shown shown;
  Offer offer;
  std::atomic<bool> begun{false}, over{false};
  std::atomic<int> connections{0}, streams{0};         // now
  std::atomic<long> pages_given{0}, streams_begun{0};  // so far
  std::atomic<Clock::rep> touched{0};                  // when a stream last got something
};

// One of a number that goes down with it.
class Ticket {
 public:
  explicit Ticket(std::atomic<int>& count) : count_(&count), number_(++count) {}
  Ticket(Ticket&& other) noexcept : count_(std::exchange(other.count_, nullptr)), number_(other.number_) {}
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (count_ != nullptr) --*count_;
  }
  int number() const { return number_; }

 private:
  std::atomic<int>* count_;
  int number_;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(beast::tcp_stream&& stream, Ticket ticket, Shared& shared)
      : shared_(shared),
        ticket_(std::move(ticket)),
        streaming_(shared.streams),
        socket_(std::move(stream)),
        timer_(socket_.get_executor()),
        feed_(shared.shown.live) {}

  template <class Header>
  void start(const Header& request) {
    beast::get_lowest_layer(socket_).expires_never();
    socket_.set_option(websocket::stream_base::timeout{kForRequest, kForPong, true});
    socket_.read_message_max(kLongestMessage);
    socket_.auto_fragment(false);
    ++shared_.streams_begun;
    socket_.async_accept(request, [self = shared_from_this()](beast::error_code trouble) {
      if (trouble) return;
      self->listen();
      self->step();
    });
  }

 private:
  // Pages have nothing to say, but their farewells and pongs are read here.
  void listen() {
    socket_.async_read(heard_, [self = shared_from_this()](beast::error_code trouble, std::size_t) {
      if (trouble) return self->drop();
      self->heard_.consume(self->heard_.size());
      self->listen();
    });
  }

  void step() {
    if (dropped_) return;
    if (shared_.over) feed_.hurry();
    if (!shared_.begun) return shared_.over ? close() : wait();
    switch (feed_.next(message_)) {
      case LiveFeed::Piece::Text: return write(true);
      case LiveFeed::Piece::Samples: return write(false);
      case LiveFeed::Piece::Later: return wait();
      case LiveFeed::Piece::Over: return close();
    }
  }

  void write(bool text) {
    socket_.text(text);
    socket_.async_write(asio::buffer(message_), [self = shared_from_this()](beast::error_code trouble, std::size_t) {
      if (trouble) return self->drop();
      self->shared_.touch();
      self->step();
    });
  }

  void wait() {
    timer_.expires_after(kLookAgain);
    timer_.async_wait([self = shared_from_this()](beast::error_code trouble) {
      if (!trouble) self->step();
    });
  }

  void close() {
    socket_.async_close(websocket::close_code::normal, [self = shared_from_this()](beast::error_code) {});
  }

  void drop() {
    dropped_ = true;
    timer_.cancel();
    beast::get_lowest_layer(socket_).close();
  }

  Shared& shared_;
  Ticket ticket_, streaming_;
  websocket::stream<beast::tcp_stream> socket_;
  asio::steady_timer timer_;
  LiveFeed feed_;
  std::string message_;
  beast::flat_buffer heard_;
  bool dropped_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket&& socket, Ticket ticket, Shared& shared)
      : shared_(shared), ticket_(std::move(ticket)), stream_(std::move(socket)) {}

  void start() {
    parser_.header_limit(kLongestHeader);
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());  // none is ever read, all are refused in our words
    stream_.expires_after(kForRequest);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](beast::error_code trouble, std::size_t) { self->answer(trouble); });
  }

 private:
  void answer(beast::error_code trouble) {
    if (trouble == http::error::header_limit || trouble == http::error::buffer_overflow)
      return give({431, Answer{}.type, "the header is too long\n"});
    if (trouble == http::error::end_of_stream || trouble == http::error::partial_message) return;
    if (trouble.category() == make_error_code(http::error::bad_method).category())
      return give({400, Answer{}.type, "this is no request\n"});
    if (trouble) return;  // too slow, or gone
    if (ticket_.number() > kConnections) return give({503, Answer{}.type, "too many connections\n"});
    const Answer it = answer_to(request(), shared_.offer);
    if (!it.stream) return give(it);
    std::make_shared<Stream>(std::move(stream_), std::move(ticket_), shared_)->start(parser_.get());
  }

  Request request() const {
    const auto& header = parser_.get();
    const auto one = [&](http::field name, std::string_view unclear) -> std::string_view {
      const std::size_t n = header.count(name);
      if (n == 0) return {};
      return n == 1 && !header[name].empty() ? view(header[name]) : unclear;
    };
    return {view(header.method_string()),
            view(header.target()),
            one(http::field::host, {}),
            one(http::field::origin, "unclear"),
            parser_.chunked() || parser_.content_length().value_or(0) > 0,
            websocket::is_upgrade(header)};
  }

  static std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

  void give(const Answer& it) {
    response_.result(it.status);
    response_.set(http::field::content_type, beast::string_view(it.type.data(), it.type.size()));
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    // The page brings its own policy; that nobody may put it into a frame can only be said here.
    response_.set("Content-Security-Policy", "frame-ancestors 'none'");
    if (it.status == 405) response_.set(http::field::allow, "GET, HEAD");
    if (it.status == 426) response_.set(http::field::upgrade, "websocket");
    response_.keep_alive(false);
    response_.body() = {it.text.data(), it.text.size()};
    response_.content_length(it.text.size());
    if (it.status == 200 && it.text.data() == shared_.offer.page.data()) ++shared_.pages_given;
    stream_.expires_after(kForAnswer);
    const auto given = [self = shared_from_this()](beast::error_code trouble, std::size_t) {
      if (!trouble) self->part();
    };
    if (parser_.get().method() == http::verb::head)
      http::async_write_header(stream_, serializer_, given);
    else
      http::async_write(stream_, serializer_, given);
  }

  // Whatever the client still sends is read for a moment: a socket that is closed over unread bytes takes the answer with it.
  void part() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kForFarewell);
    discard();
  }

  void discard() {
    stream_.async_read_some(asio::buffer(rest_), [self = shared_from_this()](beast::error_code trouble, std::size_t n) {
      self->discarded_ += n;
      if (!trouble && self->discarded_ < (1u << 20)) self->discard();
    });
  }

  Shared& shared_;
  Ticket ticket_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * kLongestHeader};
  http::request_parser<http::buffer_body> parser_;  // a body that nobody makes room for
  http::response<http::span_body<const char>> response_;
  http::response_serializer<http::span_body<const char>> serializer_{response_};
  std::array<char, 4096> rest_{};
  std::size_t discarded_ = 0;
};

}  // namespace

// Handlers that never ran go with the context; what they count in goes after it.
struct Server::Impl {
  explicit Impl(Shown shown) : shared(std::move(shown)) {}

  Result<void> listen(std::uint16_t port) {
    const tcp::endpoint here(asio::ip::address_v4::loopback(), port);
    const auto trouble = [&](const beast::error_code& error) {
      return fail(ErrorKind::File,
                  error == asio::error::address_in_use ? "the port is in use; choose another, or leave it out for a free one"
                                                       : fmt::format("cannot listen: {}", error.message()),
                  fmt::format("127.0.0.1:{}", port));
    };
    beast::error_code error;
    if (acceptor.open(here.protocol(), error)) return trouble(error);
    if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) return trouble(error);
    if (acceptor.bind(here, error)) return trouble(error);
    if (acceptor.listen(tcp::acceptor::max_listen_connections, error)) return trouble(error);
    shared.offer = {viewer_page(), shared.shown.data, !shared.shown.live.empty(), acceptor.local_endpoint().port()};
    return {};
  }

  void accept() {
    acceptor.async_accept([this](beast::error_code trouble, tcp::socket socket) {
      if (!trouble) {
        accept();  // first: whatever becomes of this one, others are let in
        return welcome(std::move(socket));
      }
      // Out of descriptors, perhaps: they come back.
      pause.expires_after(kLookAgain);
      pause.async_wait([this](beast::error_code stopped) {
        if (!stopped) accept();
      });
    });
  }

  void welcome(tcp::socket&& socket) {
    Ticket ticket(shared.connections);
    if (ticket.number() > 2 * kConnections) return;
    beast::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(tcp::socket::send_buffer_size(kSendBuffer), ignored);
    std::make_shared<Connection>(std::move(socket), std::move(ticket), shared)->start();
  }

  // What goes wrong with one connection (no memory) ends that connection.
  void work() {
    while (!context.stopped()) try_to_work();
  }
  void try_to_work() {
    try {
      context.run();
    } catch (const std::exception&) {
    }
  }

  Shared shared;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  std::thread thread;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(Shown shown, std::uint16_t port) {
  auto impl = std::make_unique<Impl>(std::move(shown));
  if (auto done = impl->listen(port); !done) return tl::unexpected(done.error());
  impl->accept();
  impl->thread = std::thread([raw = impl.get()] { raw->work(); });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  impl_->context.stop();
  impl_->thread.join();
}

std::string Server::url() const { return fmt::format("http://127.0.0.1:{}/", impl_->shared.offer.port); }

void Server::log_begun() { impl_->shared.begun = true; }

void Server::finish(bool expected, const std::atomic<bool>& stop) {
  Shared& shared = impl_->shared;
  shared.over = true;
  const bool stopped_before = stop;
  const auto begin = Clock::now();
  const auto waited = [&] { return Clock::now() - begin; };
  // A page that was given, or a browser that was opened, asks for its stream soon.
  const auto loading = [&] {
    const bool opened = expected && !stopped_before && shared.streams_begun == 0;
    return (opened || shared.streams_begun < shared.pages_given) && waited() < seconds(5);
  };
  const auto receiving = [&] { return std::min(shared.quiet(), waited()) < seconds(3); };
  while ((stopped_before || !stop) && (shared.streams > 0 ? receiving() : loading()))
    std::this_thread::sleep_for(milliseconds(10));
}

}  // namespace invar::cli
