/// Id of one connection of the bridge's socket.
package struct SocketID: Hashable, Sendable {
    package let number: Int
}

/// Orders to the server of the sockets, in sequence.
package struct SocketInstruction: Hashable, Sendable {
    package enum Order: Hashable, Sendable {
        /// A text frame.
        case send([UInt8])
        /// Close the connection. The protocol allows the code.
        case close(code: Int, reason: String)
        /// End the connection without a closing frame.
        case cut
        /// Read no more input, not even the protocol's own pings.
        case stopReading
    }

    package var socket: SocketID
    package var order: Order
}

/// The state of one connection, as reported.
package struct SocketReport: Hashable, Sendable {
    package var socket: SocketID
    /// The `version` of its `hello`, or nil before or without one.
    package var version: String?
    package var openedAt: Moment
    package var updatesSent: Int
    package var missedPongs: Int
    package var isClosing: Bool
}

/// One open connection in the relay's view.
struct BridgeSocket: Sendable {
    enum Manner: Sendable { case normal, withoutPings, silent, halfOpen }

    enum Beat: Hashable { case ping, pongMissed, dead }

    let token: String
    /// The `X-Request-ID` of its upgrade, which names it in breaches.
    let request: String
    let openedAt: Moment
    var manner: Manner
    var isClosing = false
    var version: String?
    var framesReceived = 0
    var updatesSent = 0
    private(set) var missedPongs = 0
    private var lastPing: Moment
    private var pingWithoutPong: Moment?
    private var sentUpdates: [String: Moment] = [:]

    init(token: String, request: String, manner: Manner, at now: Moment) {
        self.token = token
        self.request = request
        self.manner = manner
        openedAt = now
        lastPing = now
    }

    /// Whether the relay may send on it.
    var speaks: Bool { !isClosing && (manner == .normal || manner == .withoutPings) }

    // MARK: Heartbeat

    /// Sends a ping every so often. A pong is missed after a while, and the third missed one
    /// in a row ends the socket (relay.md#heartbeat-and-liveness).
    mutating func beats(at now: Moment, _ options: RelayOptions.Socket) -> [Beat] {
        guard manner == .normal, !isClosing else { return [] }
        var beats: [Beat] = []
        if let asked = pingWithoutPong, now.milliseconds(since: asked) >= options.pongMilliseconds {
            pingWithoutPong = nil
            missedPongs += 1
            beats.append(.pongMissed)
            if missedPongs >= options.missedPongLimit { return beats + [.dead] }
        }
        // A wall clock that jumped back must not silence the pings until it has caught up.
        if now < lastPing { lastPing = now }
        if now.milliseconds(since: lastPing) >= options.pingMilliseconds {
            lastPing = now
            pingWithoutPong = pingWithoutPong ?? now
            beats.append(.ping)
        }
        return beats
    }

    mutating func pongReceived() {
        pingWithoutPong = nil
        missedPongs = 0
    }

    // MARK: Updates

    /// Whether an update is due, and for the first time. A due update counts as sent.
    mutating func isDue(_ update: String, at now: Moment, every milliseconds: Int64) -> (sends: Bool, isFirst: Bool) {
        guard let last = sentUpdates[update] else {
            sentUpdates[update] = now
            return (true, true)
        }
        guard now < last || now.milliseconds(since: last) >= milliseconds else { return (false, false) }
        sentUpdates[update] = now
        return (now >= last, false)
    }

    mutating func forget(_ update: String) { sentUpdates[update] = nil }
}
