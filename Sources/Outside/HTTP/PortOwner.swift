import Glibc
package import Vocabulary

/// Finds in the kernel's tables which user's program is at the other end of a connection within this machine.
///
/// The row of the far socket names the user who accepted the connection. Before the accept it names nobody; then every
/// listener on the port must be trusted, and a listener that closes before the accept breaks the connection. A
/// connection without a row leads out of this network namespace. The kernel writes its tables in pieces and may skip a
/// row that moves meanwhile, so a row counts as absent only after several readings.
package enum PortOwner {
    package struct End: Hashable, Sendable {
        /// 16 bytes; IPv4 addresses in their IPv4-mapped form.
        package var address: [UInt8]
        package var port: UInt16

        package init(address: [UInt8], port: UInt16) {
            self.address = address
            self.port = port
        }

        var isLoopback: Bool {
            address == [UInt8](repeating: 0, count: 15) + [1]
                || Array(address.prefix(12)) == PortOwner.mapped && address[12] == 127
        }
    }

    /// Both ends of one connection.
    package struct Ends: Hashable, Sendable {
        package var remote: End
        package var local: End

        package init(remote: End, local: End) {
            self.remote = remote
            self.local = local
        }

        init?(
            _ remote: UnsafePointer<CChar>?, _ remotePort: Int32, _ local: UnsafePointer<CChar>?, _ localPort: Int32
        ) {
            guard let remote = End(remote, remotePort), let local = End(local, localPort) else { return nil }
            (self.remote, self.local) = (remote, local)
        }
    }

    private static let mapped: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    private static let listens = 0x0A
    private static let readings = 3

    struct Row: Hashable {
        var local: End
        var remote: End
        var state: Int
        var user: UInt32
        /// 0 before a program accepts the connection.
        var inode: UInt64
    }

    // MARK: The question

    /// Why nothing may be sent, or nil if it may. `ends` is nil if libcurl could not name them.
    static func refusal(_ ends: Ends?, _ trust: ListenerTrust) -> String? {
        guard trust != .any else { return nil }
        guard let ends else { return "nobody knows where this connection leads, so nothing is sent over it" }
        return refusal(
            ends, trust, own: geteuid(), tables: { ["/proc/net/tcp", "/proc/net/tcp6"].lazy.compactMap { read($0) } },
            number: { number(of: $0) })
    }

    /// `tables` reads the tables again on each call, lazily, because one table costs the kernel milliseconds.
    package static func refusal(
        _ ends: Ends, _ trust: ListenerTrust, own: UInt32, tables: () -> some Sequence<String>,
        number: (String) -> UInt32?
    ) -> String? {
        guard trust != .any else { return nil }
        // Within this machine both ends have the same address, or the far end has a row in the table.
        let isHere = ends.remote.isLoopback || ends.remote.address == ends.local.address
        let port = ends.remote.port
        var users: [UInt32]?
        for _ in 0..<(isHere ? readings : 1) where users?.isEmpty ?? true {
            users = self.users(of: ends, tables())
        }
        if users == nil, !isHere { return nil }
        guard let users, !users.isEmpty else {
            return
                "the user of port \(port) of this machine is not known, so no token is sent there; if the port leads to the "
                + "agent's container, set \"listener\": \"any\" in the connection's agent"
        }
        return refusal(of: users, port, trust, own: own, number: number)
    }

    /// Nil if the far socket has no row; empty if no process accepted the connection and no listener has a row.
    private static func users(of ends: Ends, _ tables: some Sequence<String>) -> [UInt32]? {
        var rows: [Row] = []
        var isThere = false
        for table in tables {
            let found = self.rows(of: table, port: ends.remote.port)
            let far = found.first { $0.local == ends.remote && $0.remote == ends.local && $0.state != listens }
            if let far, far.inode != 0 { return [far.user] }
            isThere = isThere || far != nil
            rows += found
        }
        guard isThere else { return nil }
        return rows.filter {
            $0.state == listens && ($0.local.address == ends.remote.address || $0.local.isEverywhere)
        }.map(\.user)
    }

    private static func refusal(
        of users: [UInt32], _ port: UInt16, _ trust: ListenerTrust, own: UInt32, number: (String) -> UInt32?
    ) -> String? {
        guard let someone = users.first(where: { $0 != 0 }) else { return nil }
        let trusted: UInt32
        switch trust {
        case .any: return nil
        case .own: trusted = own
        case .user(let name):
            guard let user = number(name) else {
                return
                    "port \(port) of this machine is held by user \(someone), and the user \(name) of the agent's "
                    + "\"listener\" is not known here, so no token is sent there; set \"listener\" to a user of this machine"
            }
            trusted = user
        }
        guard let stranger = users.first(where: { $0 != trusted && $0 != 0 }) else { return nil }
        return
            "port \(port) of this machine is held by user \(stranger), not by \(trusted) or root, so no token is sent there; if the agent "
            + "runs as that user, set \"listener\": \"\(stranger)\" in the connection's agent"
    }

    // MARK: The tables

    /// Rows of the sockets at the port, from a text in the format of /proc/net/tcp.
    private static func rows(of table: String, port: UInt16) -> [Row] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 10, let local = End(table: fields[1]), local.port == port,
                let remote = End(table: fields[2]),
                let state = Int(fields[3], radix: 16), let user = UInt32(fields[7]), let inode = UInt64(fields[9])
            else { return nil }
            return Row(local: local, remote: remote, state: state, user: user, inode: inode)
        }
    }

    /// Reads without a stdio stream, which would ask for the end twice, and the kernel walks all sockets for each answer.
    private static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < 64 << 20 {
            let count = Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func number(of name: String) -> UInt32? {
        if let number = UInt32(name) { return number }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        var status = getpwnam_r(name, &entry, &buffer, buffer.count, &found)
        while status == EINTR || status == ERANGE && buffer.count < 1 << 20 {
            if status == ERANGE { buffer = [CChar](repeating: 0, count: buffer.count * 4) }
            status = getpwnam_r(name, &entry, &buffer, buffer.count, &found)
        }
        return status == 0 && found != nil ? entry.pw_uid : nil
    }
}

/// Connections of one loop with a trusted far side, so that each is checked once, before its first request.
final class CheckedConnections {
    private static let limit = 256

    private var ends: Set<PortOwner.Ends> = []

    /// Cached `PortOwner.refusal`. `isNew` if this request opened the connection: an older one with the same ends is gone.
    func refusal(_ ends: PortOwner.Ends?, _ trust: ListenerTrust, isNew: Bool) -> String? {
        if let ends, !isNew, self.ends.contains(ends) { return nil }
        if let refusal = PortOwner.refusal(ends, trust) {
            if let ends { self.ends.remove(ends) }
            return refusal
        }
        if self.ends.count >= Self.limit { self.ends = [] }
        if let ends { self.ends.insert(ends) }
        return nil
    }
}

extension PortOwner.End {
    fileprivate var isEverywhere: Bool {
        address.allSatisfy { $0 == 0 } || address == [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 0, 0, 0, 0]
    }

    /// Parses an address in text form, IPv4 or IPv6.
    fileprivate init?(_ text: UnsafePointer<CChar>?, _ port: Int32) {
        guard let text, let port = UInt16(exactly: port) else { return nil }
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            let bytes = withUnsafeBytes(of: four) { Array($0) }
            self.init(address: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes, port: port)
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self.init(address: withUnsafeBytes(of: six) { Array($0) }, port: port)
    }

    /// Parses `0100007F:4965`: 4-byte words in the machine's byte order, and the port.
    fileprivate init?(table text: Substring) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16), [8, 32].contains(parts[0].utf8.count) else {
            return nil
        }
        var bytes: [UInt8] = []
        var rest = parts[0]
        while !rest.isEmpty {
            guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
            withUnsafeBytes(of: word) { bytes += Array($0) }
            rest = rest.dropFirst(8)
        }
        self.init(
            address: bytes.count == 4 ? [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes : bytes, port: port)
    }
}
