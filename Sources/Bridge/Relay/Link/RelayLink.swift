import JSONReading
package import Vocabulary

/// The socket to the relay, which carries the user's actions (relay.md#the-bridge-websocket),
/// reopened without end. Events arrive with the time, and orders leave.
///
/// - No I/O, no clock, no randomness: the runner owns the socket and one timer (`nextDeadline`), and calls `takeOrders` after each event.
/// - One socket at a time. After an order to close, the runner reports no event of that socket: a late one would count for the next socket.
/// - An update is acknowledged only when it, and every earlier one, is durable (`acknowledge`).
/// - No update is accepted before the relay's `ready` (relay.md#frames-relay-to-bridge).
/// - The link survives any frame: unknown and malformed ones are counted. An unreadable update is
///   acknowledged too, or the relay would resend it every five seconds without end.
/// - The back-off starts over only after a link that held for a minute (W36), and each step has its time limit (W37).
/// - A dead token is final (W35).
package struct RelayLink: ~Copyable {
    /// State of one socket, from the relay's `ready` to the loss.
    struct Ready {
        let installation: String?
        /// The relay sent more updates than there is room for, and a note has reported it.
        var isTellingFull = false
    }

    var settings: RelayLinkSettings
    /// The relay's `ready` is all that the handshake waits for. A link that gave up is idle.
    var life = LinkLife<Void, Ready>()
    var orders: [Order] = []
    let parser = FrameParser()

    var ledger: UpdateLedger
    var requests = OpenRequests()
    var files = FileTurns()
    package internal(set) var unknown = UnknownTally()
    var unknownReport = UnknownReport()

    package init(_ settings: RelayLinkSettings) {
        self.settings = settings
        ledger = UpdateLedger(limit: settings.updateLimit, byteLimit: settings.updateBytes)
    }

    package mutating func takeOrders() -> [Order] {
        flushAcknowledgement()
        defer { orders = [] }
        return orders
    }

    /// Bytes of updates that are not durable yet, and of files that are leaving (`HeldBytes.updates`).
    package var heldBytes: Int { ledger.bytes + files.bytes }

    var isLive: Bool { life.isLive }

    // MARK: What happened

    /// Begins, or tries again after a stop.
    package mutating func start(at now: Instant) {
        switch life.state {
        case .idle, .waiting: dial(at: now)
        case .dialling, .greeting, .live, .lost: return
        }
    }

    /// Closes the socket. Unacknowledged updates come again after the next `start`.
    package mutating func shutDown(at now: Instant) {
        flushAcknowledgement()
        if life.hasSocket { orders.append(.close(code: 1000, reason: "bridge stops")) }
        leaveSocket(at: now)
    }

    /// The WebSocket is open.
    package mutating func opened(at now: Instant) {
        guard life.opened(awaiting: (), at: now), let version = settings.helloVersion else { return }
        var hello = JSONObjectWriter()
        hello.string("type", "hello")
        hello.string("version", version)
        orders.append(.send(hello.finish()))
    }

    /// A frame arrived. A parser may read `capacity` bytes from its beginning.
    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard life.heard(read: now) else { return }
        if let root = parser.parse(frame, capacity: capacity), root.isObject {
            read(root, size: frame.count, at: now)
        } else {
            unknown.countMalformed()
        }
        if let news = unknownReport.news(unknown, at: now) { orders.append(.note(.unknown(news))) }
        settle(at: now, using: &random)
    }

    /// A ping or pong of the WebSocket itself arrived: the relay is alive.
    package mutating func heard(at now: Instant) { _ = life.heard(read: now) }

    package mutating func ponged(at now: Instant) {
        heard(at: now)
        files.ponged()
        askForFiles()
    }

    /// The far side or the network closed the socket.
    package mutating func closed(
        code: Int, reason: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard life.hasSocket else { return }
        if Self.isReplacement(reason) {
            orders.append(.note(.remedy(Self.replacementRemedy)))
            // Wait: two bridges would otherwise replace each other without end.
            lose(
                "another connection with this token took its place (\(code), \(reason))", .after(.seconds(30)), at: now)
        } else {
            lose(Self.words(code, reason), .byBackOff, at: now)
        }
        settle(at: now, using: &random)
    }

    /// The server answered the upgrade to a WebSocket with something else.
    package mutating func refused(
        status: Int, body: [UInt8], at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard case .dialling = life.state else { return }
        upgradeRefused(status, body, at: now)
        settle(at: now, using: &random)
    }

    /// No connection, or one that broke without a closing frame.
    package mutating func failed(
        message: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard life.hasSocket else { return }
        lose(message, .byBackOff, at: now)
        settle(at: now, using: &random)
    }

    /// A new token: leaves the socket of the old one and dials at once.
    package mutating func use(_ token: Secret, at now: Instant) {
        settings.token = token
        switch life.state {
        case .dialling, .greeting, .live:
            flushAcknowledgement()
            orders.append(.close(code: 1000, reason: "another token"))
            leaveSocket(at: now)
            orders.append(.lost(reason: "the token was changed", retryAt: now))
            dial(at: now)
        case .idle, .waiting: dial(at: now)
        case .lost: break
        }
    }

    /// The update is recorded where a crash cannot reach it. The order does not matter, and an update of an earlier socket is ignored.
    package mutating func acknowledge(_ update: RelayUpdate, at now: Instant) { ledger.durable(update.name, at: now) }

    /// The update could not be made durable: it is accepted again when it comes again.
    package mutating func letGo(_ update: RelayUpdate, at now: Instant) { ledger.letGo(update.name, at: now) }

    /// A deadline may be due.
    package mutating func timePassed(
        at now: Instant, wallMilliseconds: Int64, using random: inout some RandomNumberGenerator
    ) {
        if life.noticesSleep(at: now, wallMilliseconds: wallMilliseconds, due: nextDeadline) { wokeUp(at: now) }
        watch(at: now)
        settle(at: now, using: &random)
    }

    /// The machine has slept.
    package mutating func slept(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard life.hearsOfSleep(at: now) else { return }
        wokeUp(at: now)
        settle(at: now, using: &random)
    }

    // MARK: Within

    mutating func flushAcknowledgement() {
        guard isLive, let frame = ledger.takeAcknowledgement() else { return }
        orders.append(.send(frame))
    }

    static var replacementRemedy: String {
        "let one bridge have this token: stop the other one, or pair one of them again"
    }

    /// No document names a code for a replacement (relay.md#reconnect): go by the words.
    private static func isReplacement(_ reason: String) -> Bool {
        let words = reason.lowercased()
        return ["replaced", "superseded", "newer connection", "another connection"].contains { words.contains($0) }
    }

    private static func words(_ code: Int, _ reason: String) -> String {
        switch code {
        // The only documented code (relay.md#heartbeat-and-liveness).
        case 4001: "the relay missed our answers to its pings"
        case 1000, 1001: "the relay closed the connection"
        default:
            reason.isEmpty ? "the connection was closed (\(code))" : "the connection was closed (\(code), \(reason))"
        }
    }
}
