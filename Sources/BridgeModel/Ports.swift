// The ports: what the decisions and the service need of the outside. Each has its real form in one edge room and its double
// in BridgeTesting.

/// The time. Only edges and runners read it; machines are told.
package protocol Clock: Sendable {
    var now: Instant { get }
    /// Milliseconds since 1970, for what the outside is told or tells.
    var wallMilliseconds: Int64 { get }
}

/// One alarm: the latest setting replaces the one before.
package protocol Alarm: Sendable {
    /// `ring` is called once at or soon after the moment, on a thread of the alarm's own; nil switches it off.
    func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void)
    func stop()
}

/// Randomness for jitter. Never for secrets.
package protocol RandomSource: Sendable {
    func next() -> UInt64
}

/// New names that nobody else has.
package protocol IdentifierSource: Sendable {
    func next() -> String
}

package struct HTTPRequest: Sendable {
    package var method: String
    package var url: String
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// For the whole exchange, from name look-up to the last byte.
    package var timeout: Duration
    /// The most bytes of a response body that are taken; more is `HTTPFailure.Code.tooLarge`.
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
    package var headers: [HTTPHeader]
    package var body: [UInt8]

    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The last value of a header, whatever the case of its name.
    package func header(_ name: String) -> String? {
        headers.last { $0.name.utf8.count == name.utf8.count && $0.name.utf8.elementsEqual(name.utf8, by: sameLetter) }?
            .value
    }
}

private func sameLetter(_ left: UInt8, _ right: UInt8) -> Bool {
    func lower(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
    return lower(left) == lower(right)
}

package struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The address could not be used as it is.
        case badURL
        case nameNotFound, connectionRefused, tlsFailed, timedOut, connectionLost, tooLarge, cancelled, other
    }

    package var code: Code
    package var message: String
    /// Bytes of the request may have reached the other side, so that nobody knows whether it was applied.
    package var mayHaveBeenApplied: Bool

    package init(_ code: Code, _ message: String, mayHaveBeenApplied: Bool) {
        self.code = code
        self.message = message
        self.mayHaveBeenApplied = mayHaveBeenApplied
    }

    package var description: String { message }
}

/// One HTTP exchange at a time or many: never repeats a request by itself, never follows a redirect.
package protocol HTTPClient: Sendable {
    /// Begins an exchange. `completion` is called exactly once, on a thread of the client's own, and must not block it.
    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)
}

/// An open connection that carries bytes both ways: a socket, TLS or not, or a child's pipes.
package protocol ByteStream: Sendable {
    /// Some bytes, at least one; empty when the other side has ended.
    func read() async throws -> [UInt8]
    /// Returns when all bytes were taken.
    func write(_ bytes: [UInt8]) async throws
    func close()
}

/// Durable memory: what must survive a crash is recorded here before it leaves the bridge.
package protocol Store: Sendable {
    /// Returns when the record is as durable as it asks to be.
    func save(_ record: StoredRecord) throws
    /// All that was saved and not removed, in the order it was saved.
    func load() throws -> [StoredRecord]
    func remove(turn: TurnID) throws
}

/// One thing the store keeps. A later record with the same turn and name replaces the earlier one.
package struct StoredRecord: Hashable, Sendable {
    package enum Durability: Hashable, Sendable {
        /// Survives a power cut.
        case synced
        /// Survives a killed process.
        case written
    }

    package var turn: TurnID
    /// What it is within the turn: a call's key, or the name of a state.
    package var name: String
    package var bytes: [UInt8]
    package var durability: Durability

    package init(turn: TurnID, name: String, bytes: [UInt8], durability: Durability) {
        self.turn = turn
        self.name = name
        self.bytes = bytes
        self.durability = durability
    }
}
