// The phone's view as values, for tests, the demo and the page.

package struct PhoneSession: Sendable, Hashable {
    package var id: String
    package var source: String?
    package var createdAt: Moment
    package var title: String?
    /// Nil if the agent chooses.
    package var model: String?
    package var isArchived = false
    /// The relay keeps a deleted session for a while, and refuses writes to it (relay.md#rest, relay.md#codes).
    package var deletedAt: Moment?
    /// Time of the last message, or of another change that moves the session in the phone's list.
    package var updatedAt: Moment
    package var isDeleted: Bool { deletedAt != nil }
    package var messages: [PhoneMessage] = []
    package var tasks: [PhoneTask] = []

    init(id: String, source: String?, createdAt: Moment) {
        self.id = id
        self.source = source
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}

package struct PhoneMessage: Sendable, Hashable {
    package enum Role: String, Sendable, Hashable { case user, agent }

    package var id: String
    package var role: Role
    package var interaction: String?
    package var text: String
    package var sealedText: String?
    package var isFinal: Bool
    package var usage: String?
    package var finishReason: String?
    package var at: Moment
    /// Text of all deltas so far.
    package var streamed = ""
    package var deltas = 0
    /// A JSON array, in the words of the phone or the bridge.
    package var attachments: String?
    package var replyTo: String?
}

package struct PhoneTask: Sendable, Hashable {
    package var id: String
    package var kind: String
    package var interaction: String?
    package var label: String?
    package var arguments: String?
    package var partialResult: String?
    package var result: String?
    package var error: String?
    package var percent: Int?
    /// Nil while the task runs.
    package var status: String?
    /// The sealed twins of these fields, by their names on the wire.
    package var sealed: [String: String] = [:]
}

package struct PhoneApproval: Sendable, Hashable {
    package var id: String
    package var session: String
    package var interaction: String?
    package var title: String
    package var command: String?
    package var message: String?
    package var host: String?
    /// Title, message, command and host, sealed.
    package var sealedDetails: String?
    package var askedAt: Moment
    package var lifetimeMilliseconds: Int64
    /// `reason` of the denial if the card expires.
    var expiryReason: String
    package var decision: String?
    /// Reason of the relay's own denial, or nil if a person decided or nobody has.
    package var reason: String?
    /// The `data` of `approval_requested`: the snapshot's entry (relay.md#gaps-and-what-the-emulator-should-do).
    var data: [UInt8]
}

package struct PhoneEvent: Sendable, Hashable {
    package var id: UInt64
    package var type: String
    package var data: [UInt8]
    package var at: Moment
}

package struct Tally: Sendable, Hashable {
    package var calls: [String: Int] = [:]
    package var refusals: [String: Int] = [:]
    package var replays = 0
    package var faults = 0
    package var tokensTaken: [String: Int] = [:]
}
