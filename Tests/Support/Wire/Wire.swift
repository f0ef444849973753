import Glibc

/// A bare HTTP client over one socket: tests see the exact bytes, and how a connection ends.
/// Every wait has a deadline; nothing sleeps.
package final class Wire {
    package struct Reply: Equatable {
        package var status: Int
        package var headers: [String: String]
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    package enum Failure: Error, Equatable { case cannotConnect, timedOut, ended, reset, malformed(String) }

    private let descriptor: Int32
    private let port: Int
    private var received: [UInt8] = []

    /// A small `receiveBuffer` makes the kernel push back early against a test that does not read.
    package init(port: Int, receiveBuffer: Int32? = nil) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure.cannotConnect }
    }

    /// Connects to a Unix socket.
    package init(socket path: String) throws {
        port = 0
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw Failure.cannotConnect }
    }

    deinit { close(descriptor) }

    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure.reset }
            rest = rest.dropFirst(count)
        }
    }

    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends a request with a Host header and, if there is a body, Content-Length.
    package func request(_ method: String, _ target: String, headers: [String] = [], body: [UInt8]? = nil) throws {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)"] + headers
        if let body { lines.append("Content-Length: \(body.count)") }
        try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? []))
    }

    package func exchange(_ method: String, _ target: String, headers: [String] = [], body: [UInt8]? = nil) throws
        -> Reply
    {
        try request(method, target, headers: headers, body: body)
        return try reply(hasBody: method != "HEAD")
    }

    package func reply(hasBody: Bool = true) throws -> Reply {
        var reply = try head()
        if hasBody, let length = reply.headers["content-length"].flatMap({ Int($0) }) {
            while received.count < length { try readMore() }
            reply.body = Array(received.prefix(length))
            received.removeFirst(length)
        }
        return reply
    }

    /// Reads the head alone; the body stays unread.
    package func head() throws -> Reply {
        let head = try text(through: "\r\n\r\n")
        let lines = head.split(separator: "\r\n")
        guard let first = lines.first, let status = Int(first.split(separator: " ").dropFirst().first ?? "") else {
            throw Failure.malformed(head)
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Failure.malformed(head) }
            headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        return Reply(status: status, headers: headers, body: [])
    }

    /// Everything up to and including the mark, chunk headers and all.
    package func text(through mark: String) throws -> String {
        let mark = Array(mark.utf8)
        var searched = 0
        while true {
            if let end = position(of: mark, from: searched) {
                defer { received.removeFirst(end) }
                return String(decoding: received.prefix(end), as: UTF8.self)
            }
            searched = max(0, received.count - mark.count)
            try readMore()
        }
    }

    private func position(of mark: [UInt8], from start: Int) -> Int? {
        guard received.count >= mark.count else { return nil }
        for place in start...(received.count - mark.count)
        where received[place..<place + mark.count].elementsEqual(mark) {
            return place + mark.count
        }
        return nil
    }

    /// Reads until the connection ends. Returns the bytes read and how it ended.
    package func end() -> (count: Int, failure: Failure) {
        var count = received.count
        received = []
        while true {
            do { try readMore() } catch { return (count, error) }
            count += received.count
            received = []
        }
    }

    package func stopSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    private func readMore() throws(Failure) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Int32(patience * 1_000)) == 1 else { throw .timedOut }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count != 0 else { throw .ended }
        guard count > 0 else { throw .reset }
        received.append(contentsOf: buffer.prefix(count))
    }
}
