import Glibc
import Locking

/// A server that follows a test's script, byte for byte: each connection has a list of answers, one after each
/// request. An empty answer closes the connection, nil resets it.
final class ScriptedServer: Sendable {
    private let listener: LoopbackListener
    private let connections: [[String?]]
    private let seen = Locked((connections: 0, requests: [String]()))

    init(_ connections: [[String?]]) {
        self.connections = connections
        listener = LoopbackListener(backlog: 16)
        LoopbackListener.inThread { self.serve() }
    }

    var port: UInt16 { listener.port }
    var requests: [String] { seen.withLock { $0.requests } }
    var connectionCount: Int { seen.withLock { $0.connections } }

    private func serve() {
        for answers in connections {
            guard let connection = listener.nextConnection() else { return }
            seen.withLock { $0.connections += 1 }
            converse(connection, answers)
        }
        listener.end()
    }

    private func converse(_ connection: Int32, _ answers: [String?]) {
        for answer in answers {
            guard let request = readRequest(connection) else { break }
            seen.withLock { $0.requests.append(request) }
            guard let answer else {
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
                break
            }
            if answer.isEmpty { break }
            _ = answer.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
        close(connection)
    }

    private func readRequest(_ connection: Int32) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(ofHead: "\r\n\r\n"), bytes.count >= end + Self.bodyLength(text) { return text }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    private static func bodyLength(_ head: String) -> Int {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix("content-length:") {
            return Int(line.dropFirst(15).filter { $0 != " " }) ?? 0
        }
        return 0
    }
}

extension String {
    /// The offset in bytes just behind `mark`, or nil if the text lacks it.
    fileprivate func range(ofHead mark: String) -> Int? {
        let bytes = Array(utf8)
        let mark = Array(mark.utf8)
        guard bytes.count >= mark.count else { return nil }
        return (0...(bytes.count - mark.count)).first { bytes[$0..<($0 + mark.count)].elementsEqual(mark) }.map {
            $0 + mark.count
        }
    }
}
