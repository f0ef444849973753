/// The body of a response that refuses the upgrade, read for its error message: bounded, and never an error itself.
package struct RefusalBody {
    package static let limit = 65_536

    private enum Form {
        case length(Int)
        case chunked
        case untilEnd
    }

    private let form: Form
    private var received: [UInt8] = []

    package init(_ head: ResponseHead) {
        if head.values(of: "transfer-encoding").last == "chunked" {
            form = .chunked
        } else if head.status == 204 || head.status == 304 {
            form = .length(0)
        } else if let length = head.header("content-length").flatMap({ Int($0) }), length >= 0 {
            form = .length(length)
        } else {
            form = .untilEnd
        }
    }

    /// True once the body is whole or has reached the limit.
    package mutating func take(_ bytes: some Collection<UInt8>) -> Bool {
        received.append(contentsOf: bytes.prefix(Self.limit - received.count))
        if received.count == Self.limit { return true }
        switch form {
        case .length(let length): return received.count >= length
        case .chunked: return unchunked().isWhole
        case .untilEnd: return false
        }
    }

    package var bytes: [UInt8] {
        switch form {
        case .length(let length): Array(received.prefix(length))
        case .chunked: unchunked().bytes
        case .untilEnd: received
        }
    }

    private func unchunked() -> (bytes: [UInt8], isWhole: Bool) {
        var body: [UInt8] = []
        var rest = received[...]
        while let lineEnd = rest.firstIndex(of: 10) {
            let digits = rest[..<lineEnd].prefix { $0 != 13 && $0 != UInt8(ascii: ";") && $0 != 32 }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size > 0 else {
                return (body, true)
            }
            rest = rest[(lineEnd + 1)...]
            body += rest.prefix(size)
            guard rest.count >= 2, size <= rest.count - 2 else { return (body, false) }
            rest = rest.dropFirst(size + 2)
        }
        return (body, false)
    }
}
