// The port to the durable state: the journal stores everything that must survive a crash, before it leaves the bridge.

/// Strongest failure that a record survives.
package enum Durability: Hashable, Sendable {
    /// Power cut.
    case synced
    /// Killed process.
    case written
}

/// The journal of one connection.
///
/// The journal carries out jobs in the order of their arrival, all waiting ones in one transaction. It calls `done` once, on its
/// own thread, when the job is as durable as requested or could not be written; `done` must not block.
package protocol TurnJournal: Sendable {
    /// A job without `done` is retried by the journal itself, before every later job.
    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?)
    /// Takes a message of the user unless it was taken before; synced.
    func accept(_ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void)
    /// All open state. Call it before any other request.
    func load() throws(JournalFailure) -> JournalContents
    /// Forgets state that was closed or seen before that moment (milliseconds since 1970).
    func purge(before wall: Int64)
    /// Bytes of jobs that are not committed yet (`HeldBytes.journal`).
    var heldBytes: Int { get }
}

extension TurnJournal {
    package var heldBytes: Int { 0 }
}

/// A turn's place in the chat.
package struct TurnPlace: Hashable, Sendable {
    package var session: SessionID
    package var interaction: InteractionID?
    /// Message id of the turn's bubble, or nil until it is known.
    package var bubble: MessageID?

    package init(session: SessionID, interaction: InteractionID?, bubble: MessageID? = nil) {
        self.session = session
        self.interaction = interaction
        self.bubble = bubble
    }
}

package enum JournalEntry: Hashable, Sendable {
    /// The turn's newest record; replaces the one before. `place` is stored beside it, for a record that cannot be read.
    case turn(TurnID, record: [UInt8], place: TurnPlace? = nil)
    /// A part of the record, numbered from 1. It stays beside later records until the turn is closed; the same number replaces it.
    case part(TurnID, number: Int, content: [UInt8])
    /// A call, before its first try.
    case call(StoredCall)
    /// Outcome of one try.
    case tried(CallTry)
    /// The turn has ended: its records and bodies may go, its outcome stays.
    case closed(TurnID, outcome: String, wall: Int64)
    /// A stop for an interaction, which may come before its message. The journal keeps it for 30
    /// minutes. `made` is the relay's time, or nil if the relay named none.
    case stop(SessionID, InteractionID, wall: Int64, made: Int64? = nil, reach: StopReach = .everyRun)
    /// Another incident of the turn in constant words, for `explain`.
    case event(TurnID, String, wall: Int64)
    /// A name and a value that the agent's machine needs after a restart (a run's agent session, a relay session of a mirrored run, …).
    case setting(name: String, value: [UInt8]?)
}

extension JournalEntry {
    /// Size in the terms of `HeldBytes`.
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
    /// End of a delta's text in the streamed text. Nil for other calls.
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
    /// `delivered`, or the reason of the failure: the relay's code, or the error of the connection.
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
    /// The turn's opening as JSON: after a crash before the first record, the turn begins again from it.
    package var opening: [UInt8]
    package var wall: Int64
    /// Name of the message's sealed text, which no other message may repeat, or nil if the message came in the open or was refused.
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
    /// The journal took the message id within the last 30 days.
    case known
    /// Another message has the turn of that name. The journal wrote nothing, and this message needs a turn of its own.
    case turnIsTaken
    /// Another message of the last 30 days brought the same sealed text. The journal wrote nothing.
    case replayed
}

extension AcceptedMessage {
    /// Prefix of the settings that hold the marks, each with its message and its time.
    package static let markPrefix = "replay:"

    package var markSetting: (name: String, value: [UInt8])? {
        mark.map { (Self.markPrefix + $0, Array("\(wall) \(message)".utf8)) }
    }

    /// Whether another message brought the same text at `oldest` or later. `kept` is the value of the mark's setting.
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
        /// Ordered, from the first part on.
        package var parts: [[UInt8]] = []

        package init(id: TurnID, record: [UInt8], calls: [Call], place: TurnPlace? = nil) {
            self.id = id
            self.record = record
            self.calls = calls
            self.place = place
        }
    }

    /// An accepted message without a record.
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
        /// The relay confirmed one of the tries.
        package var isDelivered: Bool

        package init(call: StoredCall, isDelivered: Bool) {
            self.call = call
            self.isDelivered = isDelivered
        }
    }

    package struct Stop: Hashable, Sendable {
        package var session: SessionID
        package var interaction: InteractionID
        /// The relay's time in milliseconds, or nil if the relay named none or an earlier version wrote the stop.
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

    /// Ordered by acceptance or first record.
    package var turns: [OpenTurn] = []
    /// Ordered by acceptance.
    package var accepted: [Accepted] = []
    /// Stops of the last 30 minutes.
    package var stops: [Stop] = []
    package var settings: [String: [UInt8]] = [:]
    /// Recently created cards of tool calls, also of closed turns; oldest first.
    package var cards: [Card] = []

    package init() {}
}

package struct JournalFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case full, readOnly, busy, damaged, newer
        /// The failure is this job's alone, as with a key that is stored already. The journal works otherwise.
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
