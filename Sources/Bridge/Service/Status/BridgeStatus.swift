package import BridgeCore
package import Sealing
package import Vocabulary

/// A running bridge's report for `status`: the state of each link, in words for people, and the calls in flight, but no text of a user or
/// an agent. Times are milliseconds since 1970, as on the relay's wire (relay.md#json-rules).
///
/// The file has the same names in `snake_case`. A reader ignores members that it does not know.
package struct BridgeStatus: Codable, Hashable, Sendable {
    package var version: String
    package var pid: Int32
    package var started: Int64
    /// Time of this report.
    package var ts: Int64
    /// Why the journal cannot be written, or nil if it can.
    package var journalFault: String?
    /// Why the journal's file cannot shrink, and what to do, or nil if it can.
    package var journalRemedy: String?
    /// Why the file system may break the journal, and what to do, or nil if nothing is known against it.
    package var fileSystem: String?
    package var connections: [Connection]

    package init(version: String, pid: Int32, started: Int64, ts: Int64? = nil, connections: [Connection] = []) {
        self.version = version
        self.pid = pid
        self.started = started
        self.ts = ts ?? started
        self.connections = connections
    }

    /// True if both links of every connection are up and its agent is read.
    package var ready: Bool {
        !connections.isEmpty
            && connections.allSatisfy { $0.relay.isUp && $0.agent.link.isUp && $0.work.isMemoryFull != true }
    }

    /// Age in milliseconds.
    func age(at now: Int64) -> Int64 { StatusText.milliseconds(from: ts, to: now) }

    /// Replaces the counts of open turns with the journal's, which are newer: this report may be some seconds old.
    package mutating func count(openTurns: [ConnectionName: Int]) {
        for index in connections.indices {
            guard let count = openTurns[ConnectionName(connections[index].name)] else { continue }
            connections[index].work.openTurns = count
        }
    }

    package enum LinkState: String, Codable, Hashable, Sendable {
        case connecting, up
        /// The link was lost and is retried.
        case waiting
        /// The link waits for a person's help.
        case stopped
    }

    package struct Link: Codable, Hashable, Sendable {
        package var state = LinkState.connecting
        package var since: Int64
        /// Why the link is down.
        package var reason: String?
        /// Time of the next try.
        package var retryAt: Int64?
        /// Remedy for a person.
        package var remedy: String?

        package init(since: Int64) { self.since = since }

        package var isUp: Bool { state == .up }
    }

    package struct Agent: Codable, Hashable, Sendable {
        package var kind: String
        package var version: String?
        package var scopes: [String]?
        package var link: Link

        package init(kind: String, link: Link) {
            self.kind = kind
            self.link = link
        }
    }

    package struct Connection: Codable, Hashable, Sendable {
        package var name: String
        /// Address of the relay.
        package var relayAddress: String
        package var installation: String?
        package var relay: Link
        package var agent: Agent
        package var work = Work()
        /// Nil if a version without this member wrote the report.
        package var sealing: Sealing?
        /// Frames and updates that were not understood, by link and name.
        package var unknown: [String: Int] = [:]
        /// Answerer of our calls instead of the relay, or nil if the relay answers them.
        package var interference: String?
        package var lastError: Trouble?
        /// Longest waiting first. Nil if a version without this member wrote the report.
        package var asks: [Ask]?
        /// The busy chats, most urgent first. Nil if a version without this member wrote the report.
        package var chats: [Chat]?
        /// Cards that the relay closed by itself, counted by its word for the reason.
        package var cardEnds: [String: Int]?
        /// The bridge that shares this token, or nil if none was seen within a day.
        package var anotherBridge: Another?

        package init(name: String, relayAddress: String, agentKind: String, since: Int64) {
            self.name = name
            self.relayAddress = relayAddress
            relay = Link(since: since)
            agent = Agent(kind: agentKind, link: Link(since: since))
        }
    }

    /// Figures of the work in progress.
    package struct Work: Codable, Hashable, Sendable {
        package var openTurns = 0
        /// Messages that wait for an earlier turn.
        package var waiting = 0
        package var callsUnderWay = 0
        /// Calls that were given up.
        package var deadLetters = 0
        /// Tokens of the relay's buckets, of those that are known.
        package var tokens: [String: Double]?
        /// Bytes held in memory (`HeldBytes.total`).
        package var heldBytes: Int?
        /// True if the memory limit is reached: reading from the agent pauses until less waits.
        package var isMemoryFull: Bool?
        /// How far this machine's clock is ahead of the relay's, negative if it is behind, from two minutes on.
        package var clockAheadSeconds: Int64?
        /// Nil if no recipient of notices is configured.
        package var notices: Notices?

        package init() {}

        package init(_ figures: BridgeFigures) {
            openTurns = figures.openTurns
            waiting = figures.waitingTurns
            callsUnderWay = figures.callsUnderWay
            deadLetters = figures.deadLetters
            tokens = Dictionary(uniqueKeysWithValues: figures.levels.map { ($0.key.rawValue, $0.value) })
        }
    }

    /// Notices since the process began.
    package struct Notices: Codable, Hashable, Sendable {
        package var told = 0
        package var dropped = 0
        package var waiting = 0

        package init(_ figures: NoticeFigures) {
            (told, dropped, waiting) = (figures.told, figures.dropped, figures.waiting)
        }
    }

    /// Another bridge that answers with the same token.
    package struct Another: Codable, Hashable, Sendable {
        /// Time of the last message that it had.
        package var last: Int64
        package var messages: Int

        package static let remedy =
            "let one of the two answer: stop the other one, or pair this one again, so that each has its own token"

        /// `hour` is the local time of `last`.
        package func words(hour: String) -> String {
            "another bridge answers with this token, last at \(hour), \(Counted.words(messages, "message"))"
        }
    }

    /// A chat in which something runs or waits.
    package struct Chat: Codable, Hashable, Sendable {
        /// Keeps the file small.
        static let limit = 200

        /// The session at the relay, or nil for a sealed chat.
        package var chat: String?
        /// Raw value of `ChatFigure.State`.
        package var state: String
        package var since: Int64

        package init(chat: String?, state: String, since: Int64) {
            (self.chat, self.state, self.since) = (chat, state, since)
        }
    }

    /// An ask or a question that waits for a person.
    package struct Ask: Codable, Hashable, Sendable {
        /// The session at the relay.
        package var chat: String
        package var agent: String
        package var since: Int64
        /// Cards that the relay took for the ask, or 0 for a question in the chat.
        package var cards: Int
        /// Time until which the agent waits, or nil if it named none.
        package var until: Int64?
    }

    /// Encrypted chats, and the devices that may have their keys.
    package struct Sealing: Codable, Hashable, Sendable {
        package var encryption: String
        /// True if the relay has named this bridge on the present link.
        package var isRegistered: Bool
        package var deviceID: String?
        package var publicKey: String?
        package var devicesPinned: Int
        package var devicesHeld: Int
        package var sealedChats: Int
        /// Runs without a message that wait for a phone that could read them.
        package var runsWaiting = 0
        /// Chats with messages that wait for their key.
        package var messagesWaiting = 0
        /// Chats with another key after a revocation that no other chat was told of. Nil in a report of a version without this member.
        package var keysChanged: Int?
        /// Why the keys cannot be written, or nil if they can.
        package var filesFault: String?

        enum CodingKeys: String, CodingKey {
            case encryption, publicKey, devicesPinned, devicesHeld, sealedChats, runsWaiting, messagesWaiting,
                keysChanged
            case isRegistered = "registered"
            case deviceID = "deviceId"
            case filesFault
        }

        package init(encryption: String, _ figures: KeyRing.Figures) {
            self.encryption = encryption
            isRegistered = figures.isRegistered
            deviceID = figures.deviceID?.text
            devicesPinned = figures.pinned
            devicesHeld = figures.held
            sealedChats = figures.sealedChats
            keysChanged = figures.unheardChanges
        }
    }

    package struct Trouble: Codable, Hashable, Sendable {
        package var at: Int64
        package var message: String

        package init(at: Int64, message: String) {
            self.at = at
            self.message = message
        }
    }
}
