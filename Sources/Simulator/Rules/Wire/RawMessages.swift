package struct RawHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request as it came off the wire.
package struct RawRequest: Hashable, Sendable {
    package var method: String
    /// Path and query as sent, nothing decoded.
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

/// The answer, and how it is to travel.
package struct Exchange: Hashable, Sendable {
    package var response: RawResponse
    package var delivery: ReplyFate
    /// The kind of the fault that struck it.
    package var fault: String?
    package private(set) var warnings: [WarningCode] = []

    package init(response: RawResponse, delivery: ReplyFate, fault: String? = nil) {
        self.response = response
        self.delivery = delivery
        self.fault = fault
    }

    /// The answer says so itself.
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
    /// The first header of a name, whatever its case.
    package func value(of name: String) -> String? {
        first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name.lowercased() }?.value
    }
}
