// Sockets as the data plane wants them: not inherited by child processes, without delay, watched by keepalive.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <string>

#include "base/result.h"
#include "net/endpoint.h"

namespace weir {

// A socket that listens on the first free port of the range. Errc::bad_option if `host` cannot be
// resolved, Errc::system if no port can be had. Blocks while a name is looked up.
[[nodiscard]] Result<asio::ip::tcp::acceptor> listen_on(asio::io_context& io,
                                                        const std::string& host, PortRange ports);

// The next connection that waits at the acceptor; would_block if there is none.
[[nodiscard]] asio::ip::tcp::socket accept_from(asio::ip::tcp::acceptor& acceptor,
                                                asio::error_code& error);

// A socket to connect to such an address.
[[nodiscard]] asio::ip::tcp::socket open_socket(asio::io_context& io, const asio::ip::tcp& protocol,
                                                asio::error_code& error);

// For a connection that has just been made: no delay, keepalive.
void set_connection_options(asio::ip::tcp::socket& socket);

// "10.0.0.7:41234", or "an unknown address" if the peer is gone already.
[[nodiscard]] std::string peer_name(const asio::ip::tcp::socket& socket);

}  // namespace weir
