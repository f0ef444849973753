package struct RawHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request in its form on the wire.
package struct RawRequest: Hashable, Sendable {
    package var method: String
    /// Path and query as sent, without decoding.
    package var target: String
    package var headers: [RawHeader]
    package var body: [UInt8]

    package init(method: String, target: String, headers: [RawHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}

package struct RawResponse: Hashable, Sendable {
    package var status: Int
    package var headers: [RawHeader]
    package var body: [UInt8]

    package init(status: Int, headers: [RawHeader], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The answer, and its fate on the way.
package struct Exchange: Hashable, Sendable {
    package var response: RawResponse
    package var delivery: ReplyFate
    /// Kind of the fault that struck the call.
    package var fault: String?
    package private(set) var warnings: [WarningCode] = []

    package init(response: RawResponse, delivery: ReplyFate, fault: String? = nil) {
        self.response = response
        self.delivery = delivery
        self.fault = fault
    }

    /// Adds a warning to the answer's own headers.
    package mutating func add(_ warning: WarningCode) {
        warnings.append(warning)
        response.headers.append(warning.header)
    }
}

package enum ReplyFate: Hashable, Sendable {
    case normal
    case delayed(milliseconds: Int)
    /// The write took effect; the connection is reset before the answer leaves.
    case responseLost
    /// Nothing took effect; the connection is reset.
    case connectionReset
}

extension [RawHeader] {
    /// First header of a name, in any case.
    package func value(of name: String) -> String? {
        first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name.lowercased() }?.value
    }
}
