package import Vocabulary

/// Numbers of a journal as a whole.
package struct JournalSummary: Hashable, Sendable {
    package struct Connection: Hashable, Sendable {
        package var name: ConnectionName
        package var openTurns = 0
        /// Open turns that have a message and no record yet.
        package var waitingTurns = 0
        package var closedTurns = 0
        /// Calls that the bridge gave up.
        package var deadLetters = 0
        package var stops = 0
        package var settings = 0
    }

    package var path: String
    /// Size of the file and its log.
    package var byteCount: Int
    package var version: Int
    package var connections: [Connection]
}

/// A turn as a row of a list.
package struct TurnSummary: Hashable, Sendable {
    package var connection: ConnectionName
    package var turn: TurnID
    package var session: SessionID?
    package var interaction: InteractionID?
    package var keptAt: Int64
    package var closedAt: Int64?
    package var outcome: String?
    package var calls: Int
    package var undelivered: Int
}

/// Everything stored about one turn, for `explain`. Times are milliseconds since 1970.
package struct TurnLife: Hashable, Sendable {
    package struct Message: Hashable, Sendable {
        package var message: MessageID
        package var update: UpdateID
        package var session: SessionID
        package var interaction: InteractionID?
        package var receivedAt: Int64
    }

    package struct Event: Hashable, Sendable {
        package var words: String
        package var wall: Int64
    }

    package struct Call: Hashable, Sendable {
        package var key: IdempotencyKey
        /// `PostName` as JSON, or nil if the journal has only the call's tries.
        package var name: String?
        package var path: String?
        package var keptAt: Int64?
        package var endOffset: Int?
        package var isDelivered: Bool
        package var tries: [Try]
    }

    package struct Try: Hashable, Sendable {
        package var attempt: Int
        package var result: String
        package var isDelivered: Bool
        package var request: RequestID?
        package var milliseconds: Int
        package var wall: Int64
    }

    /// Summary of the many calls of one kind, in place of their rows, once the turn is closed.
    package struct Fold: Hashable, Sendable {
        /// `text` or `progress`.
        package var kind: String
        package var calls: Int
        /// Bytes of streamed text.
        package var bytes: Int
        package var retries: Int
        package var lastResult: String
        package var firstAt: Int64
        package var lastAt: Int64
    }

    package var connection: ConnectionName
    package var turn: TurnID
    package var keptAt: Int64
    package var closedAt: Int64?
    package var outcome: String?
    package var messages: [Message] = []
    package var events: [Event] = []
    package var calls: [Call] = []
    package var folds: [Fold] = []
}

/// A call of a closed turn that was tried and never delivered. Pieces of text do not count, because the end repeats them.
package struct DeadLetter: Hashable, Sendable {
    package var connection: ConnectionName
    package var turn: TurnID
    package var key: IdempotencyKey
    package var path: String
    package var tries: Int
    /// Result of the last try.
    package var lastResult: String
    package var lastTriedAt: Int64
}
