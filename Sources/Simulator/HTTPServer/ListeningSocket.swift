import Glibc

/// A listening socket. Made here, because the library does not report the reason of a failure.
struct ListeningSocket {
    let descriptor: Int32
    /// The port in force, even if 0 was requested.
    let port: UInt16
    /// The socket's file, or nil for a socket with a port.
    private(set) var file: SocketFile?

    /// `listens` is another one in tests, for a system that refuses it.
    init(
        _ address: ListenAddress, listens: (Int32, Int32) -> Int32 = { Glibc.listen($0, $1) }
    ) throws(LocalServerError) {
        let domain =
            switch address.family {
            case .version4: AF_INET
            case .version6: AF_INET6
            case .local: AF_UNIX
            }
        if address.family == .local { try SocketFile.makeWay(for: address) }
        let descriptor = socket(domain, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure("open a socket", address, errno) }
        do throws(LocalServerError) {
            try Self.bind(descriptor, to: address)
            if address.family == .local { file = SocketFile(at: address.host) }
            guard listens(descriptor, SOMAXCONN) == 0 else { throw Self.failure("listen", address, errno) }
            guard let port = Self.port(of: descriptor) else { throw Self.failure("learn the port", address, errno) }
            self.port = port
            self.descriptor = descriptor
        } catch {
            close(descriptor)
            file?.remove()
            throw error
        }
    }

    private static func bind(_ descriptor: Int32, to address: ListenAddress) throws(LocalServerError) {
        // SO_REUSEADDR lets a restart listen at once, instead of a minute later when the system forgets old connections. On Linux it does not
        // let two processes share a port.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, address) == 0 else { throw failure("listen", address, errno) }
        // Before `listen` lets anyone connect.
        if address.family == .local { chmod(address.host, S_IRUSR | S_IWUSR) }
    }

    private static func bind(_ descriptor: Int32, _ address: ListenAddress) -> Int32 {
        switch address.family {
        case .version4:
            var raw = sockaddr_in()
            raw.sin_family = sa_family_t(AF_INET)
            raw.sin_port = address.port.bigEndian
            inet_pton(AF_INET, address.host, &raw.sin_addr)
            return withSocketAddress(&raw) { Glibc.bind(descriptor, $0, $1) }
        case .version6:
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            raw.sin6_port = address.port.bigEndian
            inet_pton(AF_INET6, address.host, &raw.sin6_addr)
            return withSocketAddress(&raw) { Glibc.bind(descriptor, $0, $1) }
        case .local:
            var raw = address.local
            return withSocketAddress(&raw) { Glibc.bind(descriptor, $0, $1) }
        }
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        // The port has the same offset in both address families.
        var raw = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withSocketAddress(&raw) { pointer, _ in getsockname(descriptor, pointer, &size) }
        // A Unix socket has no port.
        if status == 0, raw.sin6_family == sa_family_t(AF_UNIX) { return 0 }
        return status == 0 ? UInt16(bigEndian: raw.sin6_port) : nil
    }

    static func withSocketAddress<Address>(
        _ raw: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &raw) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    static func failure(_ doing: String, _ address: ListenAddress, _ code: Int32) -> LocalServerError {
        switch code {
        case EADDRINUSE:
            return LocalServerError(
                .portInUse,
                "cannot listen on \(address): another program listens there; stop it, or take another "
                    + (address.family == .local ? "path" : "port"))
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            return LocalServerError(
                .badAddress, "cannot listen on \(address): this machine does not have that address; try 127.0.0.1")
        case EACCES, ENOENT, ENOTDIR, EROFS:
            guard address.family != .local else {
                return LocalServerError(
                    .notPermitted,
                    "cannot listen on \(address): \(String(cString: strerror(code))); take a path in a folder that this user "
                        + "may write")
            }
            return LocalServerError(
                .notPermitted, "cannot listen on \(address): ports below 1024 need root; take a higher one")
        default:
            return LocalServerError(.startFailed, "cannot \(doing) on \(address): \(String(cString: strerror(code)))")
        }
    }
}
