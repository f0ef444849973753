// The ports: the outside as the decisions and the service need it. Each port has its real form in one edge room and its double in Worlds.

/// The time. Only edges and runners read it; machines receive it with each event.
package protocol Clock: Sendable {
    var now: Instant { get }
    /// Milliseconds since 1970, for timestamps of the outside.
    var wallMilliseconds: Int64 { get }
    /// Total time that the machine has slept. Only differences between readings have a meaning.
    var suspended: Duration { get }
    /// Time of day at the machine, or nil if it is not known.
    var localTime: LocalTime? { get }
}

extension Clock {
    package var suspended: Duration { .zero }
    package var localTime: LocalTime? { nil }
}

/// One alarm: the latest setting replaces the one before.
package protocol Alarm: Sendable {
    /// Calls `ring` once, at the moment or soon after, on a thread of the alarm's own; nil switches it off.
    func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void)
    func stop()
}

/// Randomness for jitter. Never for secrets.
package protocol RandomSource: Sendable {
    func next() -> UInt64
}

/// Proves the bridge's identity with a private key.
package protocol Signer: Sendable {
    /// Raw bytes, in the form that the far side knows.
    var publicKey: [UInt8] { get }
    func sign(_ text: [UInt8]) -> [UInt8]
}

package struct HTTPRequest: Sendable {
    package var method: String
    package var url: String
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// Limit of the whole exchange, from name look-up to the last byte.
    package var timeout: Duration
    /// Largest accepted response body in bytes; a larger one fails with `HTTPFailure.Code.tooLarge`.
    package var responseLimit: Int

    package init(
        method: String, url: String, headers: [HTTPHeader] = [], body: [UInt8] = [], timeout: Duration = .seconds(10),
        responseLimit: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.responseLimit = responseLimit
    }
}

package struct HTTPHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

package struct HTTPResponse: Sendable {
    package var status: Int
    /// Header lines in their original form. The bridge reads five of them per call: strings of all would cost more than the rest of the answer.
    private let head: [UInt8]
    package var body: [UInt8]

    package init(status: Int, head: [UInt8], body: [UInt8]) {
        self.status = status
        self.head = head
        self.body = body
    }

    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.init(status: status, head: headers.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }, body: body)
    }

    /// Last value of a header; the case of the name does not matter.
    package func header(_ name: String) -> String? {
        var found: String?
        let wanted = Array(name.utf8)
        forEachHeader { line in if line.isNamed(wanted) { found = line.text } }
        return found
    }

    /// One pass over all lines that have a name.
    package func forEachHeader(_ body: (HeaderLine) -> Void) {
        unsafe head.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                var colon = start
                while colon < bytes.count, unsafe bytes[colon] != UInt8(ascii: ":"),
                    unsafe bytes[colon] != UInt8(ascii: "\n")
                { colon += 1 }
                var end = colon
                while end < bytes.count, unsafe bytes[end] != UInt8(ascii: "\n") { end += 1 }
                if colon < end, end < bytes.count {
                    body(HeaderLine(head: head, name: start..<colon, value: (colon + 1)..<end))
                }
                start = end + 1
            }
        }
    }
}

/// A header line within the head of a response.
package struct HeaderLine {
    // One array and two ranges: slices would each keep the array alive for themselves, line by line.
    private let head: [UInt8]
    private let name: Range<Int>
    private let value: Range<Int>

    init(head: [UInt8], name: Range<Int>, value: Range<Int>) {
        self.head = head
        self.name = name
        self.value = value
    }

    package var nameLength: Int { name.count }

    /// The value without the blanks around it.
    package var text: String {
        var beginning = value.lowerBound
        var end = value.upperBound
        while beginning < end, head[beginning] == 32 || head[beginning] == 9 { beginning += 1 }
        while beginning < end, head[end - 1] <= 32 { end -= 1 }
        return String(decoding: head[beginning..<end], as: UTF8.self)
    }

    /// The value, if it consists of one to nine digits.
    package var count: Int? {
        unsafe head.withUnsafeBufferPointer { head in
            var place = value.lowerBound
            var end = value.upperBound
            while place < end, unsafe head[place] == 32 || head[place] == 9 { place += 1 }
            while place < end, unsafe head[end - 1] <= 32 { end -= 1 }
            guard place < end, end - place <= 9 else { return nil }
            var number = 0
            while place < end {
                let byte = unsafe head[place]
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
                place += 1
            }
            return number
        }
    }

    /// Compares without regard to case.
    package func isNamed(_ wanted: [UInt8]) -> Bool {
        name.count == wanted.count
            && wanted.indices.allSatisfy { Self.lower(head[name.lowerBound + $0]) == Self.lower(wanted[$0]) }
    }

    /// Compares without regard to case. `wanted` must be in lower case.
    package func isNamed(_ wanted: StaticString) -> Bool {
        guard name.count == wanted.utf8CodeUnitCount else { return false }
        return wanted.withUTF8Buffer { wanted in
            unsafe head.withUnsafeBufferPointer { head in
                for place in 0..<wanted.count {
                    guard unsafe Self.lower(head[name.lowerBound + place]) == wanted[place] else { return false }
                }
                return true
            }
        }
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
}

package struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// Unusable address.
        case badURL
        case nameNotFound, connectionRefused, timedOut, connectionLost, tooLarge, cancelled, other
        /// The server's certificate failed verification.
        case tlsFailed
        /// The listener's user is not trusted or unknown; nothing was sent.
        case foreignListener
    }

    package var code: Code
    package var message: String
    /// Whether bytes of the request may have reached the other side. The caller then cannot know if the request was applied.
    package var mayHaveBeenApplied: Bool

    package init(_ code: Code, _ message: String, mayHaveBeenApplied: Bool) {
        self.code = code
        self.message = message
        self.mayHaveBeenApplied = mayHaveBeenApplied
    }

    package var description: String { message }
}

/// An HTTP client. It never repeats a request by itself and never follows a redirect.
package protocol HTTPClient: Sendable {
    /// Begins an exchange. The client calls `completion` exactly once, on a thread of its own; `completion` must not block it.
    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)

    /// Begins an exchange. The client's thread calls `meanwhile` at most once, as soon as it only
    /// waits for answers: time for work that need not delay the request.
    func send(
        _ request: HTTPRequest, meanwhile: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)
}

extension HTTPClient {
    package func send(
        _ request: HTTPRequest, meanwhile: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        send(request, completion: completion)
        meanwhile()
    }
}
