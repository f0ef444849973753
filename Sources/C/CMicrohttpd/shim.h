#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <microhttpd.h>

// Wrappers for variadic functions and macro constants, which Swift does not import.

/// The socket of a connection, or -1.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

/// Called for each new connection. Without TCP_NODELAY a small piece of an event stream may wait 40 ms for the reader's
/// acknowledgement of the previous one.
static inline void cmicrohttpd_connected(void *owner, struct MHD_Connection *connection, void **socket_context,
                                         enum MHD_ConnectionNotificationCode event) {
  (void)owner;
  (void)socket_context;
  if (event != MHD_CONNECTION_NOTIFY_STARTED) return;
  int on = 1;
  (void)setsockopt(cmicrohttpd_socket(connection), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Starts a server with one thread, on a socket that already listens, and takes ownership of the socket on success.
///
/// A `limit_per_address` of 0 means no limit.
static inline struct MHD_Daemon *cmicrohttpd_start(int listening_socket, unsigned int connection_limit,
                                                   unsigned int limit_per_address, unsigned int idle_seconds, MHD_AccessHandlerCallback access,
                                                   void *owner, void *(*begin)(void *, const char *, struct MHD_Connection *),
                                                   MHD_RequestCompletedCallback completed) {
  return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, NULL, NULL,
                          access, owner,                                         //
                          MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listening_socket, //
                          MHD_OPTION_CONNECTION_LIMIT, connection_limit,         //
                          MHD_OPTION_PER_IP_CONNECTION_LIMIT, limit_per_address, //
                          MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,           //
                          MHD_OPTION_STRICT_FOR_CLIENT, 1,                       //
                          MHD_OPTION_URI_LOG_CALLBACK, begin, owner,             //
                          MHD_OPTION_NOTIFY_COMPLETED, completed, owner,         //
                          MHD_OPTION_NOTIFY_CONNECTION, &cmicrohttpd_connected, NULL, //
                          MHD_OPTION_END);
}

/// Resets a connection at once. Connecting to "no address" drops a TCP connection without the FIN that the library's own shutdown
/// would send first; the library then finds the socket dead and closes it.
static inline void cmicrohttpd_reset(struct MHD_Connection *connection) {
  struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
  (void)connect(cmicrohttpd_socket(connection), &nowhere, sizeof(nowhere));
}

/// Shuts a connection down from any thread: the library's thread sees the hang-up and cleans up.
static inline void cmicrohttpd_hang_up(struct MHD_Connection *connection) {
  (void)shutdown(cmicrohttpd_socket(connection), SHUT_RDWR);
}

/// Whether the client is on this machine: 127.0.0.0/8, also as an IPv4-mapped address, or ::1.
static inline int cmicrohttpd_is_loopback(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == NULL || info->client_addr == NULL) return 0;
  if (info->client_addr->sa_family == AF_INET) {
    const struct sockaddr_in *address = (const struct sockaddr_in *)info->client_addr;
    return ntohl(address->sin_addr.s_addr) >> 24 == 127;
  }
  if (info->client_addr->sa_family != AF_INET6) return 0;
  const struct in6_addr *address = &((const struct sockaddr_in6 *)info->client_addr)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/// Returns an upgraded connection to the library, which closes its socket.
static inline enum MHD_Result cmicrohttpd_close_upgraded(struct MHD_UpgradeResponseHandle *handle) {
  return MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

/// Sets TCP_NODELAY on an upgraded socket: the library clears the option while it writes responses.
static inline void cmicrohttpd_send_at_once(int descriptor) {
  int on = 1;
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static inline uint64_t cmicrohttpd_size_unknown(void) { return MHD_SIZE_UNKNOWN; }
static inline ssize_t cmicrohttpd_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t cmicrohttpd_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
