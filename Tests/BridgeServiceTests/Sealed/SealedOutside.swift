import BridgeCore
import Crypto
import FoundationEssentials
import Sealing
import Vocabulary
import Worlds

@testable import BridgeService

/// A bridge on its edges with one sealed chat: a relay that answers on order, a journal, and the chat's key.
/// Single-threaded.
final class SealedOutside: HTTPClient, Alarm, @unchecked Sendable {
    static let chat = SessionID("ses_1")
    static let agent = AgentSession("chat")
    static let words = "rosebud"

    struct Call {
        var method: String
        var body: [UInt8]
        var complete: @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void

        var text: String { String(decoding: body, as: UTF8.self) }

        func member(_ name: String) -> String? {
            SealedOutside.texts(in: body)[name]
        }
    }

    let time = VirtualTime()
    let disk: VirtualDisk
    let journal: VirtualJournal
    let library: OpenSSLSealing
    let key: SecretKey
    let keyName: KeyName
    private let recordKey: SecretKey
    /// Keys of the ring.
    var keys: [KeyName: SecretKey]
    private(set) var calls: [Call] = []
    /// Every call ever sent, including those of earlier processes.
    private(set) var sent: [(method: String, body: [UInt8])] = []
    private(set) var said: [String] = []
    private(set) var commands: [AgentCommand] = []
    private(set) var restored: JournalRestoring?
    private var ring: (@Sendable () -> Void)?
    private(set) var runner: BridgeRunner?

    init() throws {
        library = try OpenSSLSealing()
        disk = VirtualDisk(time)
        journal = VirtualJournal(disk)
        let bytes = (0..<32).map { UInt8($0) }
        guard let key = SecretKey(bytes), let recordKey = SecretKey(bytes.reversed()) else { throw Missing() }
        (self.key, self.recordKey) = (key, recordKey)
        keyName = KeyName(of: key, library: library)
        keys = [keyName: key]
        begin()
    }

    struct Missing: Error {}

    func sealer(_ key: SecretKey) -> SessionSealer { SessionSealer(Self.chat, key: key, library: library) }

    var turnSealer: TurnSealer {
        var turns = TurnSealer(library: library, secrets: library) { [recordKey] in
            recordKey
        } sealer: { [self] session, name in
            session == Self.chat ? keys[name].map { sealer($0) } : nil
        } open: { [self] sealed, _ in
            guard let (name, key) = keys.first else { return (.waitsForKey, nil) }
            guard let text = try? sealer(key).text(of: sealed, .messages) else {
                return (.unreadable(.notAuthentic), name)
            }
            return (.text(text), name)
        }
        turns.said = { [self] in said.append($0) }
        return turns
    }

    // MARK: The process

    private func begin() {
        let edges = BridgeRunner.Edges(
            http: self, clock: time, alarm: self, random: Even(), journal: journal, callLimit: .seconds(10))
        var sealed = edges
        sealed.sealer = turnSealer
        var settings = BridgeSettings()
        // Every ended text has a row of its own.
        settings.partBytes = 1
        runner = BridgeRunner(
            settings: settings, relay: RelayAddress(baseURL: "http://relay", token: "t"), edges: sealed
        ) { [self] order in
            if case .command(let command) = order { commands.append(command) }
        }
    }

    /// SIGKILL, and the next process.
    func dies() {
        disk.kill()
        (calls, ring, commands) = ([], nil, [])
        settings += 1
        begin()
        let restoring = JournalRestoring(journal.load(), clock: time, sealer: turnSealer)
        restored = restoring
        runner?.remember(restoring.storedCalls)
        runner?.tell { bridge, now in
            for turn in restoring.turns {
                bridge.restore(turn.record, deltas: turn.deltas, keptAt: turn.keptAt, at: now)
            }
            for turn in restoring.unreadable { bridge.end(turn, at: now) }
            for opening in restoring.openings { bridge.turnBegins(opening, at: now) }
            bridge.agentBack(at: now)
        }
    }

    /// Advances time until nothing remains within that duration.
    func pass(_ duration: Duration = .milliseconds(500)) {
        let end = time.now + duration
        time.at(end) {}
        while time.step(until: end) {}
    }

    // MARK: Events

    func opening(_ number: Int = 1, text: String = words, sealing: TurnSealing? = nil) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        return TurnOpening(
            id: TurnID(interaction.text), session: Self.chat, interaction: interaction, agentSession: Self.agent,
            run: RunID("r\(number)"),
            message: UserMessage(
                id: MessageID("m\(number)"), session: Self.chat, interaction: interaction,
                text: sealing == .sealed(nil) ? "" : text),
            receivedAt: time.now, windowEnds: time.now + .seconds(1_800), sealing: sealing ?? .sealed(keyName),
            sealedText: sealer(key).seal(text, .messages, random: library))
    }

    func begins(_ opening: TurnOpening) {
        runner?.tell { bridge, now in bridge.turnBegins(opening, at: now) }
        pass()
    }

    func says(_ event: RunEvent, run: Int = 1) {
        runner?.tell { bridge, now in
            bridge.agentSays(RunSignal(run: RunID("r\(run)"), session: Self.agent, event: event), at: now)
        }
        pass()
    }

    /// The run has begun, and the bubble is open.
    func running() {
        begins(opening())
        answerAll()
        runner?.tell { bridge, now in
            bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: now)
        }
        pass()
    }

    // MARK: The relay

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        let method = request.url.split(separator: "/").last.map(String.init) ?? ""
        calls.append(Call(method: method, body: request.body, complete: completion))
        sent.append((method, request.body))
    }

    func next() throws -> Call {
        guard !calls.isEmpty else { throw Missing() }
        return calls.removeFirst()
    }

    func answer(_ call: Call) {
        let body = #"{"ok":true,"result":{"message_id":"msg_1"}}"#
        call.complete(.success(HTTPResponse(status: 200, body: Array(body.utf8))))
        pass()
    }

    func refuse(_ call: Call, _ status: Int, _ code: String) {
        let body = #"{"ok":false,"error":{"code":"\#(code)","message":""}}"#
        call.complete(.success(HTTPResponse(status: status, body: Array(body.utf8))))
        pass()
    }

    func lose(_ call: Call) {
        call.complete(.failure(HTTPFailure(.connectionLost, "reset", mayHaveBeenApplied: true)))
        pass(.seconds(5))
    }

    func answerAll() {
        while let call = try? next() { answer(call) }
    }

    /// A field as the phone reads it.
    func read(_ sealed: String?, _ path: SealedPath = .messages) throws -> String {
        guard let sealed else { throw Missing() }
        return try sealer(key).text(of: sealed, path, mayBeEmpty: true)
    }

    // MARK: Readable without the key

    /// The journal's whole content and every call sent.
    var readable: String {
        let contents = journal.load()
        var bytes: [UInt8] = []
        for turn in contents.turns {
            bytes += turn.record + turn.parts.flatMap(\.self)
            for call in turn.calls { bytes += call.call.body + call.call.name }
        }
        for accepted in contents.accepted { bytes += accepted.opening }
        for value in contents.settings.values { bytes += value }
        for call in sent { bytes += call.body }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Time

    func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        self.ring = moment == nil ? nil : ring
        guard let moment else { return }
        settings += 1
        let mine = settings
        time.at(moment) { [self] in if mine == settings { self.ring?() } }
    }
    private var settings = 0

    func stop() { ring = nil }

    private struct Even: RandomSource { func next() -> UInt64 { 1 << 62 } }
}

extension SealedOutside {
    /// Members of a body with text values.
    static func texts(in body: [UInt8]) -> [String: String] {
        struct Text: Decodable {
            var value: String?
            init(from decoder: any Decoder) throws {
                value = try? decoder.singleValueContainer().decode(String.self)
            }
        }
        let members = try? JSONDecoder().decode([String: Text].self, from: Data(body))
        return (members ?? [:]).compactMapValues(\.value)
    }
}
