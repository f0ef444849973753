// The port to the durable state: what must survive a crash is written here before it leaves the bridge.

/// How much a record survives.
package enum Durability: Hashable, Sendable {
    /// A power cut.
    case synced
    /// A killed process.
    case written
}

/// The journal of one connection.
///
/// Jobs are carried out in the order they are handed in, as many in one transaction as wait. `done` is called once, on the
/// journal's own thread, when the job is as durable as it asked to be or could not be written; it must not block.
package protocol TurnJournal: Sendable {
    /// Without `done` it is left to the journal: what cannot be written is tried again, before whatever is handed in later.
    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?)
    /// Takes a message of the user, unless it was taken before; synced.
    func accept(_ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void)
    /// All that is open. Before any other request.
    func load() throws(JournalFailure) -> JournalContents
    /// Forgets what was closed or seen before that moment (milliseconds since 1970).
    func purge(before wall: Int64)
    /// What was handed in and is not committed yet (`HeldBytes.journal`).
    var heldBytes: Int { get }
}

extension TurnJournal {
    package var heldBytes: Int { 0 }
}

/// Where a turn is shown.
package struct TurnPlace: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    /// The message id of its bubble, once that is known.
    package var bubble: MessageID?

    package init(session: SessionID, interaction: InteractionID?, bubble: MessageID? = nil) {
        self.session = session
        self.interaction = interaction
        self.bubble = bubble
    }
}

package enum JournalEntry: Hashable, Sendable {
    /// The turn's newest record; replaces the one before. `place`: beside it, for when it cannot be read.
    case turn(TurnID, record: [UInt8], place: TurnPlace? = nil)
    /// A part of it, from 1: stays beside the records to come until the turn is closed. The same number again replaces it.
    case part(TurnID, number: Int, content: [UInt8])
    /// A call, before its first try.
    case call(StoredCall)
    /// What one try came to.
    case tried(CallTry)
    /// Its records and bodies may go; what is left says what happened.
    case closed(TurnID, outcome: String, wall: Int64)
    /// A stop for an interaction, which may come before its message. Kept for 30 minutes.
    /// `made`: by the relay's clock; nil: it did not say.
    case stop(SessionID, InteractionID, wall: Int64, made: Int64? = nil, reach: StopReach = .everyRun)
    /// Something else that happened to the turn: constant words, for `explain`.
    case event(TurnID, String, wall: Int64)
    /// What the agent must know again after a restart: a name and a value (a run's agent session, a relay session of a
    /// mirrored run, …).
    case setting(name: String, value: [UInt8]?)
}

extension JournalEntry {
    /// As `HeldBytes` counts.
    package var heldBytes: Int {
        let payload =
            switch self {
            case .turn(_, let record, _): record.count
            case .part(_, _, let content): content.count
            case .call(let call): call.body.count
            case .setting(_, let value): value?.count ?? 0
            case .tried, .closed, .stop, .event: 0
            }
        return HeldBytes.entryCost + payload
    }
}

package struct StoredCall: Hashable, Sendable {
    package var turn: TurnID
    package var key: IdempotencyKey
    /// `PostName` as JSON.
    package var name: [UInt8]
    package var path: String
    package var body: [UInt8]
    /// Of a delta: where its text ends in the streamed text.
    package var endOffset: Int?
    package var wall: Int64

    package init(
        turn: TurnID, key: IdempotencyKey, name: [UInt8], path: String, body: [UInt8], endOffset: Int?, wall: Int64
    ) {
        self.turn = turn
        self.key = key
        self.name = name
        self.path = path
        self.body = body
        self.endOffset = endOffset
        self.wall = wall
    }
}

package struct CallTry: Hashable, Sendable {
    package var turn: TurnID
    package var key: IdempotencyKey
    package var attempt: Int
    /// `delivered`, or why not: the relay's code, or what broke.
    package var result: String
    package var isDelivered: Bool
    package var request: RequestID?
    package var milliseconds: Int
    package var wall: Int64

    package init(
        turn: TurnID, key: IdempotencyKey, attempt: Int, result: String, isDelivered: Bool, request: RequestID?,
        milliseconds: Int, wall: Int64
    ) {
        self.turn = turn
        self.key = key
        self.attempt = attempt
        self.result = result
        self.isDelivered = isDelivered
        self.request = request
        self.milliseconds = milliseconds
        self.wall = wall
    }
}

package struct AcceptedMessage: Hashable, Sendable {
    package var message: MessageID
    package var update: UpdateID
    package var turn: TurnID
    package var session: SessionID
    package var interaction: InteractionID?
    /// The turn's opening as JSON: should the process die before the turn has a record, it begins again from here.
    package var opening: [UInt8]
    package var wall: Int64
    /// The name of its sealed text: no other message may bring the same. Nil: it came in the open, or was refused.
    package var mark: String?

    package init(
        message: MessageID, update: UpdateID, turn: TurnID, session: SessionID, interaction: InteractionID?,
        opening: [UInt8], wall: Int64, mark: String? = nil
    ) {
        self.mark = mark
        self.message = message
        self.update = update
        self.turn = turn
        self.session = session
        self.interaction = interaction
        self.opening = opening
        self.wall = wall
    }
}

package enum Acceptance: Hashable, Sendable {
    case fresh
    /// The message id was taken in the last 30 days.
    case known
    /// Another message has the turn of that name: nothing was written, and this message needs a turn of its own.
    case turnIsTaken
    /// Another message of the last 30 days has brought the same sealed text: nothing was written.
    case replayed
}

extension AcceptedMessage {
    /// Settings of that prefix hold the marks, each with its message and when it came.
    package static let markPrefix = "replay:"

    package var markSetting: (name: String, value: [UInt8])? {
        mark.map { (Self.markPrefix + $0, Array("\(wall) \(message)".utf8)) }
    }

    /// `kept`: what the setting of its mark holds. Whether another message brought the same text, not before `oldest`.
    package func isReplayed(_ kept: [UInt8], since oldest: Int64) -> Bool {
        let words = String(decoding: kept, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard words.count == 2, let wall = Int64(words[0]), wall >= oldest else { return false }
        return words[1] != message.text
    }
}

package struct JournalContents: Hashable, Sendable {
    package struct OpenTurn: Hashable, Sendable {
        package var id: TurnID
        package var record: [UInt8]
        package var calls: [Call]
        package var place: TurnPlace?
        /// From the first on, in order.
        package var parts: [[UInt8]] = []

        package init(id: TurnID, record: [UInt8], calls: [Call], place: TurnPlace? = nil) {
            self.id = id
            self.record = record
            self.calls = calls
            self.place = place
        }
    }

    /// A message that was taken, and has no record yet.
    package struct Accepted: Hashable, Sendable {
        package var turn: TurnID
        package var opening: [UInt8]
        package var session: SessionID
        package var interaction: InteractionID?

        package init(turn: TurnID, opening: [UInt8], session: SessionID, interaction: InteractionID?) {
            self.turn = turn
            self.opening = opening
            self.session = session
            self.interaction = interaction
        }
    }

    package struct Call: Hashable, Sendable {
        package var call: StoredCall
        /// Some try of it was delivered.
        package var isDelivered: Bool

        package init(call: StoredCall, isDelivered: Bool) {
            self.call = call
            self.isDelivered = isDelivered
        }
    }

    package struct Stop: Hashable, Sendable {
        package var session: SessionID
        package var interaction: InteractionID
        /// By the relay's clock, in milliseconds; nil: it did not say, or an earlier version wrote it.
        package var made: Int64?
        package var reach: StopReach

        package init(
            session: SessionID, interaction: InteractionID, made: Int64? = nil, reach: StopReach = .everyRun
        ) {
            self.session = session
            self.interaction = interaction
            self.made = made
            self.reach = reach
        }
    }

    package struct Card: Hashable, Sendable {
        package var turn: TurnID
        /// `PostName` as JSON.
        package var name: [UInt8]

        package init(turn: TurnID, name: [UInt8]) {
            self.turn = turn
            self.name = name
        }
    }

    /// In the order they were accepted or first kept.
    package var turns: [OpenTurn] = []
    /// In order.
    package var accepted: [Accepted] = []
    /// Of the last 30 minutes.
    package var stops: [Stop] = []
    package var settings: [String: [UInt8]] = [:]
    /// The cards of tool calls that were created lately, also by turns that are closed; the oldest first.
    package var cards: [Card] = []

    package init() {}
}

package struct JournalFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case full, readOnly, busy, damaged, newer
        /// About the one job: what it was to keep is kept otherwise, and will be.
        case conflict
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
