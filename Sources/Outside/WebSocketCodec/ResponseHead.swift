package import Vocabulary

package struct ResponseHead: Hashable, Sendable {
    package var status: Int
    package var headers: [HTTPHeader]

    /// First value of a header; names compare without case.
    package func header(_ name: String) -> String? { headers.first { sameName($0.name, name) }?.value }

    /// Values of a header that is a list, in lower case.
    func values(of name: String) -> [String] {
        headers.filter { sameName($0.name, name) }.flatMap { $0.value.split(separator: ",") }.map { part in
            String(part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }).lowercased()
        }
    }
}

func sameName(_ left: String, _ right: String) -> Bool { left.lowercased() == right.lowercased() }

package struct HandshakeError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        case tooLong
        case malformed
    }

    package var code: Code
    package var message: String
}

/// Parses the head of the response to an upgrade, from pieces of any size. Interim responses (100, 103) are skipped.
package struct ResponseHeadParser {
    /// Largest head, interim responses included.
    package static let limit = 65_536

    private var received: [UInt8] = []
    /// No head ends before this index.
    private var searched = 0
    private var interimBytes = 0

    package init() {}

    /// The complete head, and the bytes behind it, which belong to the next protocol. Nil if more bytes are needed.
    package mutating func take(
        _ bytes: some Collection<UInt8>
    ) throws(HandshakeError) -> (head: ResponseHead, rest: [UInt8])? {
        received.append(contentsOf: bytes)
        while let end = headEnd() {
            guard interimBytes + end <= Self.limit else { throw Self.tooLong }
            let head = try Self.parse(received[..<(end - 4)])
            let rest = Array(received[end...])
            if head.status == 101 || head.status >= 200 { return (head, rest) }
            interimBytes += end
            received = rest
            searched = 0
        }
        guard interimBytes + received.count <= Self.limit else { throw Self.tooLong }
        return nil
    }

    private static let tooLong = HandshakeError(
        code: .tooLong, message: "the head of the server's answer is longer than \(limit) bytes")

    private mutating func headEnd() -> Int? {
        var index = searched
        while index + 4 <= received.count {
            if received[index] == 13, received[index + 1] == 10, received[index + 2] == 13, received[index + 3] == 10 {
                return index + 4
            }
            index += 1
        }
        searched = index
        return nil
    }

    private static func parse(_ bytes: ArraySlice<UInt8>) throws(HandshakeError) -> ResponseHead {
        var lines: [ArraySlice<UInt8>] = []
        for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
            lines.append(line.last == 13 ? line.dropLast() : line)
        }
        let first = String(decoding: lines[0], as: UTF8.self).split(separator: " ", maxSplits: 2)
        guard first.count >= 2, first[0] == "HTTP/1.1" || first[0] == "HTTP/1.0", first[1].utf8.count == 3,
            let status = Int(first[1]), (100...599).contains(status)
        else {
            throw HandshakeError(
                code: .malformed, message: "the server does not answer as HTTP does; check the address and the port")
        }
        return ResponseHead(status: status, headers: try lines.dropFirst().map(header))
    }

    private static func header(_ line: ArraySlice<UInt8>) throws(HandshakeError) -> HTTPHeader {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex, line[line.startIndex] > 32
        else {
            throw HandshakeError(code: .malformed, message: "the server's answer has a line that is no header")
        }
        let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
        let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? value.startIndex
        return HTTPHeader(
            String(decoding: line[..<colon], as: UTF8.self),
            String(decoding: value[value.startIndex..<end], as: UTF8.self))
    }
}
