package import BridgeCore
package import Sealing
package import Vocabulary

/// A running bridge's report for `status`: the state of each link, in words for people, and the calls in flight. Never
/// what a user or an agent wrote. Times are milliseconds since 1970, like all times on the relay's wire (relay.md#json-rules).
///
/// In the file the names are these, in `snake_case`. A reader takes what it knows and lets the rest be.
package struct BridgeStatus: Codable, Hashable, Sendable {
    package var version: String
    package var pid: Int32
    package var started: Int64
    /// When this was written.
    package var ts: Int64
    /// Why the journal cannot be written; nil: it can.
    package var journalFault: String?
    /// Why its file cannot shrink, with what to do; nil: it can.
    package var journalRemedy: String?
    /// Why its file system may break it, with what to do; nil: nothing is known against it.
    package var fileSystem: String?
    package var connections: [Connection]

    package init(version: String, pid: Int32, started: Int64, ts: Int64? = nil, connections: [Connection] = []) {
        self.version = version
        self.pid = pid
        self.started = started
        self.ts = ts ?? started
        self.connections = connections
    }

    /// Every connection has seen the relay's greeting and the agent's handshake, both links are up now, and the agent is read.
    package var ready: Bool {
        !connections.isEmpty
            && connections.allSatisfy { $0.relay.isUp && $0.agent.link.isUp && $0.work.isMemoryFull != true }
    }

    /// The journal knows of turns at once, and this was written some seconds ago.
    package mutating func count(openTurns: [ConnectionName: Int]) {
        for index in connections.indices {
            guard let count = openTurns[ConnectionName(connections[index].name)] else { continue }
            connections[index].work.openTurns = count
        }
    }

    package enum LinkState: String, Codable, Hashable, Sendable {
        case connecting, up
        /// Lost, and tried again by itself.
        case waiting
        /// Only a person can help.
        case stopped
    }

    package struct Link: Codable, Hashable, Sendable {
        package var state = LinkState.connecting
        package var since: Int64
        /// Why it is not up.
        package var reason: String?
        /// When the next try comes.
        package var retryAt: Int64?
        /// What a person can do.
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
        /// Its address.
        package var relayAddress: String
        package var installation: String?
        package var relay: Link
        package var agent: Agent
        package var work = Work()
        /// Nil: written by a version that did not say.
        package var sealing: Sealing?
        /// Frames and updates that were not understood, by link and name.
        package var unknown: [String: Int] = [:]
        /// What answers our calls in the relay's place; nil: the relay does.
        package var interference: String?
        package var lastError: Trouble?
        /// The longest waiting first. Nil: written by a version that did not say.
        package var asks: [Ask]?
        /// The busy chats, sorted by urgency; nil if the writer predates the member.
        package var chats: [Chat]?
        /// How often the relay closed a card by itself, by its word for the reason.
        package var cardEnds: [String: Int]?
        /// The bridge that shares this token; nil: none was seen within a day.
        package var anotherBridge: Another?

        package init(name: String, relayAddress: String, agentKind: String, since: Int64) {
            self.name = name
            self.relayAddress = relayAddress
            relay = Link(since: since)
            agent = Agent(kind: agentKind, link: Link(since: since))
        }
    }

    /// What is on its way.
    package struct Work: Codable, Hashable, Sendable {
        package var openTurns = 0
        /// Messages that wait for a turn before them.
        package var waiting = 0
        package var callsUnderWay = 0
        /// Calls that the relay will never take.
        package var deadLetters = 0
        /// By bucket, where they are known.
        package var tokens: [String: Double]?
        /// Bytes held in memory (`HeldBytes.total`).
        package var heldBytes: Int?
        /// It reached the limit: nothing is read from the agent until it is less.
        package var isMemoryFull: Bool?
        /// How far this machine's clock is ahead of the relay's, from two minutes on; below zero: behind.
        package var clockAheadSeconds: Int64?
        /// Nil: no recipient of notices is configured.
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
        /// When it had a message last.
        package var last: Int64
        package var messages: Int

        package static let remedy =
            "let one of the two answer: stop the other one, or pair this one again, so that each has its own token"

        /// `hour`: that of `last`.
        package func words(hour: String) -> String {
            "another bridge answers with this token, last at \(hour), \(Counted.words(messages, "message"))"
        }
    }

    /// A chat in which something runs or waits.
    package struct Chat: Codable, Hashable, Sendable {
        /// The file is to stay small.
        static let limit = 200

        /// The session at the relay; nil: the chat is sealed.
        package var chat: String?
        /// `ChatFigure.State`.
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
        /// Cards that the relay took for it; 0: it is a question in the chat.
        package var cards: Int
        /// When the agent stops waiting; nil: it did not say.
        package var until: Int64?
    }

    /// Encrypted chats, and the devices that may have their keys.
    package struct Sealing: Codable, Hashable, Sendable {
        package var encryption: String
        /// The relay has said on this link what this bridge is called.
        package var isRegistered: Bool
        package var deviceID: String?
        package var publicKey: String?
        package var devicesPinned: Int
        package var devicesHeld: Int
        package var sealedChats: Int
        /// Runs that no message began, until a phone could read them.
        package var runsWaiting = 0
        /// Chats whose messages wait for their key.
        package var messagesWaiting = 0
        /// Chats that have another key after a revocation that no other chat was told of. Nil: written by a version that did not say.
        package var keysChanged: Int?
        /// Why the keys cannot be written; nil: they can.
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
