import LocalServer
import RelayRules
import Vocabulary

/// Everything of a simulator that changes, under its one lock: the relay and its subscribers.
struct SimulatorState {
    /// The next events for subscribers in the same process.
    struct Announcement {
        var events: [PhoneEvent]
        var updates: [PendingUpdate]
        var eventHandlers: [@Sendable (PhoneEvent) -> Void]
        var updateHandlers: [@Sendable (PendingUpdate) -> Void]
    }

    var relay: Relay
    var lanes = LaneWatch()
    var isRunning = false
    /// The open sockets of bridges. Releasing a link cuts it.
    var links: [SocketID: any WebSocketLink] = [:]
    var waitingPolls: [WaitingPoll] = []
    var waitingViews: [WaitingView] = []
    /// The bridge in the same process, which answers the phone's requests to it.
    var questionHandler: (@Sendable (String, [UInt8]) -> String)?
    var files = AttachmentFiles()
    var watch = WatchFeed()
    /// The phones' event stream, and its position.
    let phones = EventFeed(limit: Self.phoneLimit)
    private var toldEvent: UInt64 = 0
    private var eventHandlers: [@Sendable (PhoneEvent) -> Void] = []
    private var updateHandlers: [@Sendable (PendingUpdate) -> Void] = []
    private var announcedEvent: UInt64 = 0
    private var announcedUpdates: Set<String> = []
    private var isAnnouncing = false

    /// Bytes that a phone may fall behind; the feed keeps them once for all phones.
    private static let phoneLimit = 32 << 20

    init(relay: Relay) {
        self.relay = relay
        toldEvent = relay.lastPhoneEventID
    }

    /// The lane of a message: deltas and ends name only their message (relay.md#sendmessagedelta, relay.md#sendmessageend).
    func lane(ofMessage id: String) -> LaneWatch.Lane? {
        for session in relay.sessions {
            guard let message = session.messages.first(where: { $0.id == id }) else { continue }
            return message.interaction.map { LaneWatch.Lane(session: session.id, interaction: $0) }
        }
        return nil
    }

    // MARK: - Phones on the event stream

    /// Replays the events after `last`, then the reader is live. Without `last` it is live at once: a phone that
    /// starts cold has just read the durable state, and replayed deltas would double its text.
    func attachPhone(after last: UInt64?) -> FeedReader {
        guard let last, last != relay.lastPhoneEventID else { return phones.open() }
        return phones.open(backlog: relay.phoneEvents(after: last).flatMap(ServerSentEvents.pieces))
    }

    var readerCount: Int { phones.readerCount }

    /// Carries out the relay's orders on the sockets. The calls of a link return at once, so the lock may be
    /// held around them, and no two threads can mix up the order of the frames.
    mutating func carryOutSocketInstructions() {
        for instruction in relay.takeSocketInstructions() {
            guard let link = links[instruction.socket] else { continue }
            switch instruction.order {
            case .send(let frame): link.send(text: frame)
            case .close(let code, let reason): link.close(code: code, reason: reason)
            case .cut: link.cut()
            case .stopReading: link.pauseReading()
            }
        }
    }

    /// Orders to carry out outside the lock. The phones' streams end here.
    mutating func takeEdgeOrders() -> [EdgeOrder] {
        let orders = relay.takeEdgeOrders()
        if orders.contains(.cutPhones) { phones.cutAll() }
        return orders
    }

    /// Appends new events to every phone's stream. It never waits.
    mutating func publish() {
        let last = relay.lastPhoneEventID
        guard toldEvent < last else { return }
        defer { toldEvent = last }
        guard phones.isRead else { return }
        for event in relay.phoneEvents(after: toldEvent) where event.id > toldEvent {
            phones.append(ServerSentEvents.bytes(of: event))
        }
    }

    /// Keeps idle connections open, and reveals lost ones.
    func comment() {
        phones.append(ServerSentEvents.comment)
        watch.comment()
    }

    // MARK: - Subscribers in the same process

    mutating func subscribe(events handler: @escaping @Sendable (PhoneEvent) -> Void) {
        if eventHandlers.isEmpty { announcedEvent = relay.lastPhoneEventID }
        eventHandlers.append(handler)
    }

    mutating func subscribe(updates handler: @escaping @Sendable (PendingUpdate) -> Void) {
        updateHandlers.append(handler)
    }

    /// The next events to announce, or nil if there are none or another thread is announcing, which will find these too.
    mutating func nextAnnouncement(continuing: Bool) -> Announcement? {
        guard continuing || !isAnnouncing else { return nil }
        let next = Announcement(
            events: newEvents(), updates: newUpdates(), eventHandlers: eventHandlers, updateHandlers: updateHandlers)
        isAnnouncing = !next.events.isEmpty || !next.updates.isEmpty
        return isAnnouncing ? next : nil
    }

    private mutating func newEvents() -> [PhoneEvent] {
        let last = relay.lastPhoneEventID
        guard !eventHandlers.isEmpty, announcedEvent < last else { return [] }
        defer { announcedEvent = last }
        return relay.phoneEvents(after: announcedEvent).filter { $0.id > announcedEvent }
    }

    private mutating func newUpdates() -> [PendingUpdate] {
        guard !updateHandlers.isEmpty else { return [] }
        let pending = relay.pendingUpdates()
        let new = pending.filter { !announcedUpdates.contains($0.id) }
        announcedUpdates = Set(pending.map(\.id))
        return new
    }
}
