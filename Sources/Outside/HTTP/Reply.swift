import Glibc
import Vocabulary

/// The part of a response received so far.
struct Reply {
    private(set) var limit = 0
    /// The response exceeded its limit.
    private(set) var isTooLarge = false
    private var head: [UInt8] = []
    private var headerBytes = 0
    private var body: [UInt8] = []

    private static let headerLimit = 65_536

    mutating func begin(limit: Int) {
        self = Reply()
        self.limit = limit
        head.reserveCapacity(512)
    }

    /// Moves the received bytes out.
    mutating func finish(status: Int) -> HTTPResponse {
        defer {
            head = []
            body = []
        }
        return HTTPResponse(status: status, head: head, body: body)
    }

    /// Returns the number of bytes taken; fewer than given end the transfer.
    mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= limit else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    mutating func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.headerLimit else {
            isTooLarge = true
            return 0
        }
        // A new status line: the previous head was of an interim response or a proxy.
        if bytes.count >= 5, let start = bytes.baseAddress, memcmp(start, "HTTP/", 5) == 0 {
            head.removeAll(keepingCapacity: true)
        } else {
            head.append(contentsOf: bytes)
        }
        return bytes.count
    }
}
