import RelayRules

/// The form of the phone's event stream (relay.md#gaps-and-what-the-emulator-should-do).
enum ServerSentEvents {
    static let comment = Array(": still here\n\n".utf8)

    /// The data is JSON on one line: it needs no splitting.
    static func bytes(of event: PhoneEvent) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(event.data.count + 64)
        for piece in pieces(of: event) { bytes += piece }
        return bytes
    }

    /// The same bytes without a copy of the data: many returning phones share those of the ring.
    static func pieces(of event: PhoneEvent) -> [[UInt8]] {
        [Array("id: \(event.id)\nevent: \(event.type)\ndata: ".utf8), event.data, end]
    }

    private static let end: [UInt8] = [10, 10]

    /// Without an id: watchers' events are not kept for a reconnect.
    static func bytes(of event: WatchEvent) -> [UInt8] {
        Array("event: \(event.name)\ndata: ".utf8) + event.data + [10, 10]
    }
}
