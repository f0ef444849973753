import Glibc

/// The file of a listening Unix socket.
struct SocketFile: Equatable, Sendable {
    private let path: String
    private let device: dev_t
    private let number: ino_t

    /// Nil if there is no file.
    init?(at path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (self.path, device, number) = (path, status.st_dev, status.st_ino)
    }

    /// Removes the file, unless another program has put its own in its place.
    func remove() {
        if Self(at: path) == self { unlink(path) }
    }

    /// Removes a stale socket, one without a listener. Any other file at the path is kept.
    static func makeWay(for address: ListenAddress) throws(LocalServerError) {
        var status = stat()
        guard lstat(address.host, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw LocalServerError(
                .badAddress, "cannot listen on \(address): there is a file that is no socket; take another path")
        }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw ListeningSocket.failure("open a socket", address, errno) }
        defer { close(descriptor) }
        var raw = address.local
        let connected = ListeningSocket.withSocketAddress(&raw) { connect(descriptor, $0, $1) }
        // EAGAIN means a listener with a full queue (unix(7)).
        guard connected != 0, errno == ECONNREFUSED else {
            throw ListeningSocket.failure("listen", address, connected == 0 || errno == EAGAIN ? EADDRINUSE : errno)
        }
        unlink(address.host)
    }
}

extension ListenAddress {
    /// The address of a Unix socket. Its path has been checked against the size of `sun_path`.
    var local: sockaddr_un {
        var raw = sockaddr_un()
        raw.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &raw.sun_path) { room in
            precondition(host.utf8.count < room.count, "the path of a Unix socket fits into its address")
            room.copyBytes(from: host.utf8)
        }
        return raw
    }
}
