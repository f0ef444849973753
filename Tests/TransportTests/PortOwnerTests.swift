import Glibc
import Locking
import Testing
import Vocabulary

@testable import Transport

@Suite("Who listens on a port of this machine")
struct PortOwnerTests {
    private static let head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    private static let loopback = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 127, 0, 0, 1]
    private static let six = [UInt8](repeating: 0, count: 15) + [1]

    private static func row(_ local: String, _ remote: String, _ state: String, _ user: Int, _ inode: Int) -> String {
        "   0: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000 \(user)        0 \(inode) 1 0 100 0 0 10 0\n"
    }

    private func refusal(
        _ rows: [String], _ trust: ListenerTrust = .own, address: [UInt8] = loopback
    ) -> String? {
        PortOwner.refusal(
            PortOwner.Ends(
                remote: .init(address: address, port: 18789), local: .init(address: address, port: 40000)),
            trust, own: 1000, tables: { [Self.head + rows.joined()] }, number: { $0 == "claw" ? 1001 : uid_t($0) })
    }

    private static func listens(_ user: Int) -> String { row("0100007F:4965", "00000000:0000", "0A", user, 7) }
    private static func everywhere(_ user: Int) -> String { row("00000000:4965", "00000000:0000", "0A", user, 7) }
    private static func taken(_ user: Int) -> String { row("0100007F:4965", "0100007F:9C40", "01", user, 9) }
    private static let untaken = row("0100007F:4965", "0100007F:9C40", "01", 0, 0)

    @Test("this user and root may listen, anybody else only by name or number")
    func users() {
        for user in [0, 1000] { #expect(refusal([Self.listens(user), Self.taken(user)]) == nil) }
        let words = refusal([Self.listens(1001), Self.taken(1001)])
        #expect(words?.contains("18789") == true && words?.contains("user 1001") == true)
        #expect(words?.contains("\"listener\"") == true)
        for name in ["claw", "1001"] { #expect(refusal([Self.listens(1001), Self.taken(1001)], .user(name)) == nil) }
        #expect(refusal([Self.listens(1001), Self.taken(1001)], .user("nobody-here"))?.contains("not known") == true)
        #expect(refusal([Self.listens(1001), Self.taken(1001)], .any) == nil)
    }

    @Test("the user who took the connection counts, whoever listens by now")
    func changedHands() {
        #expect(refusal([Self.listens(1000), Self.taken(1001)]) != nil)
        #expect(refusal([Self.listens(1001), Self.taken(1000)]) == nil)
    }

    @Test("a connection that nobody took yet: the zero in its row is not root, all that listen have to be trusted")
    func untaken() {
        #expect(refusal([Self.untaken, Self.listens(1001)]) != nil)
        #expect(refusal([Self.untaken, Self.listens(1000)]) == nil)
        #expect(refusal([Self.untaken, Self.listens(1001), Self.everywhere(1000)]) != nil)
        #expect(refusal([Self.untaken, Self.everywhere(1000)]) == nil)
    }

    @Test("where no row is found, nothing is sent: the far side is in another namespace")
    func absent() {
        #expect(refusal([])?.contains("\"any\"") == true)
        #expect(refusal([Self.row("0100007F:4966", "00000000:0000", "0A", 1000, 7)]) != nil)
    }

    @Test("the tables of IPv6, its loopback, and a socket for both")
    func six() {
        let zero = String(repeating: "0", count: 32)
        let one = String(repeating: "0", count: 24) + "01000000"
        let mapped = "0000000000000000FFFF00000100007F"
        #expect(refusal([Self.row("\(one):4965", "\(one):9C40", "01", 1000, 9)], address: Self.six) == nil)
        #expect(refusal([Self.row("\(one):4965", "\(one):9C40", "01", 1001, 9)], address: Self.six) != nil)
        #expect(refusal([Self.row("\(mapped):4965", "\(mapped):9C40", "01", 1001, 9)]) != nil)
        #expect(refusal([Self.row("\(mapped):4965", "\(mapped):9C40", "01", 1000, 9)]) == nil)
        #expect(refusal([Self.untaken, Self.row("\(zero):4965", "\(zero):0000", "0A", 1001, 9)]) != nil)
    }

    @Test("an address of this machine that is not loopback is checked as well, another machine's is not")
    func ownAddress() {
        let (lan, other) = ([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 10, 0, 0, 5], Self.loopback)
        let rows = [Self.row("0500000A:4965", "0500000A:9C40", "01", 1001, 9)]
        func words(_ local: [UInt8], _ rows: [String]) -> String? {
            PortOwner.refusal(
                PortOwner.Ends(remote: .init(address: lan, port: 18789), local: .init(address: local, port: 40000)),
                .own, own: 1000, tables: { [Self.head + rows.joined()] }, number: { _ in nil })
        }
        #expect(words(lan, rows)?.contains("user 1001") == true)
        #expect(words(lan, [])?.contains("\"any\"") == true)
        // A connection from another address of this machine, which its far row shows.
        let crossed = [Self.row("0500000A:4965", "0100007F:9C40", "01", 1001, 9)]
        #expect(words(other, crossed)?.contains("user 1001") == true)
        #expect(words(other, rows) == nil)
    }

    @Test("a row that a reading left out is found by the next one, and nothing is sent where none finds it")
    func readAgain() {
        let ends = PortOwner.Ends(
            remote: .init(address: Self.loopback, port: 18789), local: .init(address: Self.loopback, port: 40000))
        func words(_ readings: [[String]]) -> (String?, Int) {
            var count = 0
            let words = PortOwner.refusal(
                ends, .own, own: 1000,
                tables: {
                    defer { count += 1 }
                    return [Self.head + readings[min(count, readings.count - 1)].joined()]
                }, number: { _ in nil })
            return (words, count)
        }
        #expect(words([[Self.listens(1000)], [Self.listens(1000), Self.taken(1000)]]) == (nil, 2))
        #expect(words([[Self.untaken], [Self.untaken, Self.listens(1000)]]) == (nil, 2))
        #expect(
            words([[Self.listens(1000)], [Self.listens(1000), Self.taken(1001)]]).0?.contains("user 1001") == true)
        #expect(words([[Self.listens(1000)]]).0 != nil)
    }

    // MARK: Another user of this machine

    @Test(
        "a port that another user took gets no byte, by WebSocket and by HTTP, and all of it once the person names that user",
        .enabled(if: geteuid() == 0), arguments: ["127.0.0.1", "::1"], [ListenerTrust.own, .user("65534"), .any])
    func anotherUser(address: String, trust: ListenerTrust) throws {
        let thief = try Thief(address, user: 65_534)
        let host = address == "::1" ? "[::1]" : address
        let ended = Locked<[String]>([])
        var request = WebSocketRequest(
            url: "ws://\(host):\(thief.port)/",
            headers: [HTTPHeader("Authorization", "Bearer plainhexwithoutshape0123")])
        request.listener = trust
        request.handshakeTimeout = .milliseconds(300)
        let codes = Locked<[String]>([])
        let link = WebSocketConnection(request) { event in
            if case .failed(let failure) = event { codes.withLock { $0.append("\(failure.code)") } }
            ended.withLock { $0.append("\(event)") }
        }
        var settings = CurlClient.Settings()
        settings.listener = trust
        let client = CurlClient(settings: settings)
        client.send(
            HTTPRequest(
                method: "GET", url: "http://\(host):\(thief.port)/",
                headers: [HTTPHeader("Authorization", "Bearer plainhexwithoutshape0123")], timeout: .milliseconds(300))
        ) { result in
            if case .failure(let failure) = result { codes.withLock { $0.append("\(failure.code)") } }
            ended.withLock { $0.append("\(result)") }
        }
        let heard = thief.heard(atLeast: trust == .own ? 0 : 2) { ended.withLock { $0.count >= 2 } }
        #expect(heard.contains("plainhexwithoutshape0123") == (trust != .own), "\(heard)")
        if trust == .own {
            #expect(ended.withLock { $0 }.allSatisfy { $0.contains("held by user 65534") }, "\(ended.withLock { $0 })")
            #expect(codes.withLock { $0 } == ["foreignListener", "foreignListener"])
        }
        client.close()
        withExtendedLifetime(link) {}
    }

    @Test(
        "a port that changes hands between two connects is asked for again, and its new owner gets no byte",
        .enabled(if: geteuid() == 0), arguments: ["127.0.0.1", "::1"])
    func changesHandsBetweenConnects(address: String) async throws {
        let place = address == "::1" ? "[::1]" : address
        let owner = try Thief(address, user: 0)
        var settings = CurlClient.Settings()
        settings.listener = .own
        let client = CurlClient(settings: settings)
        defer { client.close() }
        let bearer = [HTTPHeader("Authorization", "Bearer plainhexwithoutshape0123")]
        let request = HTTPRequest(
            method: "GET", url: "http://\(place):\(owner.port)/", headers: bearer, timeout: .seconds(20))
        func answer() async -> String {
            do { return "\(try await client.exchange(request).status)" } catch { return "\(error.code)" }
        }
        // One connection, whose owner the client looks up once.
        #expect(await [answer(), answer()] == ["200", "200"])
        #expect(owner.heard(atLeast: 2) { true }.components("Bearer").count == 3)
        owner.end()
        let thief = try Thief(address, user: 65_534, port: owner.port)
        // The earlier connection is dead, and each try makes another.
        #expect(await [answer(), answer()] == ["foreignListener", "foreignListener"])
        var upgrade = WebSocketRequest(url: "ws://\(place):\(owner.port)/", headers: bearer)
        upgrade.listener = .own
        #expect(try PeerLine(upgrade).failure() == .foreignListener)
        #expect(thief.heard(atLeast: 0) { true } == "")
        thief.end()
        let back = try Thief(address, user: 0, port: owner.port)
        #expect(await answer() == "200")
        withExtendedLifetime(back) {}
    }

    @Test("of two connections with the same ends each is asked for", .enabled(if: geteuid() == 0))
    func sameEnds() throws {
        let owner = try Thief("127.0.0.1", user: 0)
        let checked = CheckedConnections()
        let (first, ends) = try Self.connected(to: owner.port)
        #expect(checked.refusal(ends, .own, isNew: true) == nil)
        // The socket does not linger for late packets, so the same port is free at once.
        var abort = linger(l_onoff: 1, l_linger: 0)
        setsockopt(first, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
        close(first)
        owner.end()
        let thief = try Thief("127.0.0.1", user: 65_534, port: owner.port)
        let (second, again) = try Self.connected(to: owner.port, from: ends.local.port)
        defer { close(second) }
        #expect(again == ends)
        #expect(checked.refusal(again, .own, isNew: true)?.contains("user 65534") == true)
        #expect(checked.refusal(again, .own, isNew: false)?.contains("user 65534") == true)
        withExtendedLifetime(thief) {}
    }

    private static func connected(to port: UInt16, from local: UInt16 = 0) throws -> (Int32, PortOwner.Ends) {
        // CLOEXEC: a child that another test starts meanwhile would keep the connection open.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        func address(_ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            address.sin_port = port.bigEndian
            return address
        }
        func call(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            var address = address(port)
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        let isBound = call(local) { bind(descriptor, $0, $1) } == 0
        let isOpen = call(port) { Glibc.connect(descriptor, $0, $1) } == 0
        try #require(isBound && isOpen)
        var found = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &found) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return (
            descriptor,
            PortOwner.Ends(
                remote: .init(address: loopback, port: port),
                local: .init(address: loopback, port: UInt16(bigEndian: found.sin_port)))
        )
    }
}

/// A listener of another user, which answers each request as an HTTP server. A child that gave up root opens its
/// socket.
private final class Thief {
    let port: UInt16
    private let child: pid_t
    private let output: Int32
    private var isOver = false

    init(_ address: String, user: uid_t, port wanted: UInt16 = 0) throws {
        let script = """
            import os, socket, sys, threading
            os.setuid(\(user))
            listener = socket.socket(socket.AF_INET6 if ':' in '\(address)' else socket.AF_INET)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(('\(address)', \(wanted))); listener.listen()
            os.write(1, b'%d\\n' % listener.getsockname()[1])
            def hear(peer):
                while data := peer.recv(4096):
                    os.write(1, data)
                    peer.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=hear, args=(peer,), daemon=True).start()
            """
        var pipes: [Int32] = [0, 0]
        let made = pipe(&pipes)
        try #require(made == 0)
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
        let words = ["python3", "-c", script]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let status = posix_spawnp(&process, "python3", &actions, nil, &arguments, environ)
        try #require(status == 0)
        close(pipes[1])
        (child, output) = (process, pipes[0])
        var line = ""
        var byte: UInt8 = 0
        while read(pipes[0], &byte, 1) == 1, byte != 10 { line.append(Character(UnicodeScalar(byte))) }
        port = try #require(UInt16(line))
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
    }

    deinit {
        end()
        close(output)
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        kill(child, SIGKILL)
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }

    /// Bytes that arrived, once `isOver` holds and more than `count` pieces split by `Bearer` have come.
    func heard(atLeast count: Int, isOver: () -> Bool) -> String {
        var bytes: [UInt8] = []
        for _ in 0..<100 {
            var about = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            poll(&about, 1, 100)
            var piece = [UInt8](repeating: 0, count: 4_096)
            let read = Glibc.read(output, &piece, piece.count)
            if read > 0 { bytes += piece.prefix(read) }
            let text = String(decoding: bytes, as: UTF8.self)
            if isOver(), read <= 0, text.components("Bearer").count > count { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    fileprivate func components(_ word: String) -> [Substring] {
        split(separator: word, omittingEmptySubsequences: false)
    }
}
