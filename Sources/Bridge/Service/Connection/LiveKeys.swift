import Locking
package import Sealing
package import Vocabulary

/// Keys of one connection while its process runs: the ring on its edges, the envelopes seen so far, and the updates that wait until a
/// change of the ring is on the disk.
package final class LiveKeys: Sendable {
    package struct Parts: Sendable {
        package var ring: KeyRing
        package var library: any SealingLibrary
        /// Source of keys and nonces.
        package var secrets: any SecretRandom
        package var alarm: any Alarm
        /// Writes both files and calls back: with true once the disk has them, with false if it cannot. Jobs come one at a time.
        package var save: @Sendable (StoredKeyRing, @escaping @Sendable (Bool) -> Void) -> Void
        package var encryption = Encryption.auto
        package var routines = Configuration.Routines.auto
        /// Name of this machine on the phone.
        package var label: String?
        /// Called once, when this connection begins to seal: from then on the text of conversations must not be recorded.
        package var hasSecrets: @Sendable () -> Void = {}

        package init(
            ring: KeyRing, library: any SealingLibrary, secrets: any SecretRandom, alarm: any Alarm,
            save: @escaping @Sendable (StoredKeyRing, @escaping @Sendable (Bool) -> Void) -> Void
        ) {
            self.ring = ring
            self.library = library
            self.secrets = secrets
            self.alarm = alarm
            self.save = save
        }
    }

    /// Called once: with true when the update's change is on the disk, with false if it could not be kept.
    typealias Settled = @Sendable (Bool) -> Void

    private struct State {
        var encryption: Encryption
        var routines: Configuration.Routines
        var replays = ReplayGuard()
        var updates = 0
        var settled: [UpdateID: Settled] = [:]
        /// Turns that are about to begin, with the number of holds on their key.
        var holds: [TurnID: Int] = [:]
        var sealers: [SealerName: SessionSealer] = [:]
        /// Notices as they were sealed: a retry sends the same bytes while the chat has that key.
        var notices: [IdempotencyKey: (key: KeyName, content: SealedContent)] = [:]
        var telling = Telling()
        var hasSecrets: (@Sendable () -> Void)?
        var pairing: (secret: SecretKey?, at: Int64?)?
    }

    /// Progress of notices about devices and keys.
    private struct Telling {
        var isUnderWay = false
        var count = 0
        /// Moment of the next try, after a notice that no chat took.
        var againAt: Instant?
    }

    private struct SealerName: Hashable {
        var session: SessionID
        var key: KeyName
    }

    /// At this number all sealers are dropped, and the keys of fields are derived again.
    private static let sealerLimit = 256
    private static let noticeLimit = 64
    private static let noticePause = Duration.seconds(60)

    private let runner: KeyRunner
    private let state: Locked<State>
    private let clock: any Clock
    private let library: any SealingLibrary
    private let secrets: any SecretRandom

    /// `hears` gets the orders about turns and people, in order.
    init(
        _ parts: Parts, http: any HTTPClient, clock: any Clock, callLimit: Duration,
        relay: @escaping @Sendable () -> RelayAddress?, hears: @escaping @Sendable (KeyRingOrder) -> Void
    ) {
        var edges = KeyRunner.Edges(
            http: http, clock: clock, alarm: parts.alarm, secrets: parts.secrets, relay: relay, save: parts.save)
        edges.callLimit = callLimit
        edges.label = parts.label
        let state = Locked(State(encryption: parts.encryption, routines: parts.routines))
        self.state = state
        self.clock = clock
        library = parts.library
        secrets = parts.secrets
        runner = KeyRunner(parts.ring, edges: edges) { order in
            switch order {
            case .acknowledge(let update): state.withLock { $0.settled.removeValue(forKey: update) }?(true)
            case .letGo(let update): state.withLock { $0.settled.removeValue(forKey: update) }?(false)
            case .save, .register, .grant, .keyReady, .chatGranted, .tell: hears(order)
            }
        }
        if parts.encryption == .off { runner.tell { ring, now, _ in ring.registers(false, at: now) } }
        state.withLock { $0.hasSecrets = parts.hasSecrets }
        noteSecrets()
    }

    private func noteSecrets() {
        guard hasHeldKey || encryption == .require else { return }
        state.withLock { state in
            defer { state.hasSecrets = nil }
            return state.hasSecrets
        }?()
    }

    // MARK: The ring

    func tell(_ event: (inout KeyRing, Instant, any SecretRandom) -> Void) { runner.tell(event) }

    package func ask<Answer: Sendable>(_ question: (borrowing KeyRing) -> Answer) -> Answer { runner.ask(question) }

    /// The ring knows the update by a name made here: the relay's counters may restart (DESIGN.md#a-runs-journey).
    func change(
        _ event: (inout KeyRing, UpdateID, Instant, any SecretRandom) -> Void, settled: @escaping Settled
    ) {
        let name = state.withLock { state in
            state.updates += 1
            let name = UpdateID("\(state.updates)")
            state.settled[name] = settled
            return name
        }
        runner.tell { ring, now, secrets in event(&ring, name, now, secrets) }
        noteSecrets()
    }

    func stop() { runner.stop() }

    // MARK: The configuration

    package var encryption: Encryption { state.withLock { $0.encryption } }

    /// Applies to later messages.
    package func use(_ encryption: Encryption, _ trust: DeviceBook.Trust, _ routines: Configuration.Routines = .auto) {
        state.withLock { ($0.encryption, $0.routines) = (encryption, routines) }
        runner.tell { ring, now, secrets in
            ring.registers(encryption != .off, at: now)
            ring.use(trust, at: now, using: secrets)
        }
        noteSecrets()
    }

    /// Keeps what pairing left for the token that comes next.
    package func use(device secret: SecretKey?, pairedAt: Int64?) {
        state.withLock { $0.pairing = (secret, pairedAt) }
    }

    /// Moves the ring to the installation of that token.
    func moved(to installation: String?) {
        let pairing = state.withLock { state in
            defer { state.pairing = nil }
            return state.pairing
        }
        runner.tell { ring, now, _ in
            ring.moved(to: installation, pairedAt: pairing?.at, at: now)
            if let secret = pairing?.secret { ring.use(device: secret, at: now) }
        }
    }

    /// True if some chat of the installation ever had a key.
    var hasHeldKey: Bool { ask { $0.hasHeldKey } }

    /// Whether the words of a chat are for its phones alone.
    func hidesWords(of session: SessionID) -> Bool {
        encryption == .require || ask { $0.isSealed(session) || $0.keyName(for: session) != nil }
    }

    /// Whether the relay may ask the agent's scheduler.
    func verdict(onRoutine verb: String) -> RoutinePolicy.Verdict {
        let (encryption, routines) = state.withLock { ($0.encryption, $0.routines) }
        return RoutinePolicy.verdict(verb, routines, encryption, hasHeldKey: hasHeldKey)
    }

    // MARK: Incoming envelopes

    /// Text of the user, and the key that a turn of this chat begins with. A message of files alone has the empty text.
    func open(_ sealed: String, in session: SessionID, mayBeEmpty: Bool = false) -> (text: OpenedMessage, key: KeyName?)
    {
        runner.ask { ($0.open(sealed, in: session, mayBeEmpty: mayBeEmpty), $0.keyName(for: session)) }
    }

    /// True if this bridge made the envelope.
    func isOurs(_ sealed: String) -> Bool { state.withLock { $0.replays.isOurs(sealed) } }

    // MARK: Outgoing envelopes

    /// Sealer of the turns' calls.
    var turnSealer: TurnSealer {
        var sealer = TurnSealer(
            library: library, secrets: secrets, recordKey: { [runner] in runner.ask { $0.recordKey } },
            sealer: { [weak self] in self?.sealer($0, $1) },
            open: { [weak self] in self?.open($0, in: $1) ?? (.waitsForKey, nil) })
        let state = state
        sealer.said = { text in state.withLock { $0.replays.said(text) } }
        return sealer
    }

    /// Nil if the key is gone, or not on the disk yet.
    func sealer(_ session: SessionID, _ key: KeyName) -> SessionSealer? {
        let name = SealerName(session: session, key: key)
        let known = state.withLock { $0.sealers[name] }
        guard let known, runner.ask({ $0.has(key, of: session) }) else {
            let made = runner.ask { $0.sealer(session, key) }
            state.withLock { state in
                if state.sealers.count >= Self.sealerLimit { state.sealers = [:] }
                state.sealers[name] = made
            }
            return made
        }
        return known
    }

    /// How a sentence beside all turns goes out: sealed if the chat has a key, in the open if the chat is not sealed.
    func notice(_ call: RelayCall, in session: SessionID) -> Notice {
        let (isSealed, key) = runner.ask { ($0.isSealed(session), $0.keyName(for: session)) }
        guard encryption != .off, isSealed else { return .open }
        if let name = call.key, let kept = state.withLock({ $0.notices[name] }), kept.key == key ?? kept.key {
            return .sealed(kept.content)
        }
        guard let key, let content = sealer(session, key)?.content(of: call, random: secrets) else { return .unsaid }
        state.withLock { state in
            if state.notices.count >= Self.noticeLimit { state.notices = [:] }
            if let name = call.key { state.notices[name] = (key, content) }
            if let text = content[.text] { state.replays.said(text) }
        }
        return .sealed(content)
    }

    /// Sealed content of an announcement, or nil if the key is gone.
    func content(of file: SeenFile, in session: SessionID, _ key: KeyName?) -> SealedContent? {
        key.flatMap { sealer(session, $0) }?.content(of: file, random: secrets)
    }

    /// Sealer under the chat's current key.
    func sealer(of session: SessionID) -> SessionSealer? {
        runner.ask { $0.keyName(for: session) }.flatMap { sealer(session, $0) }
    }

    func seal(_ bytes: [UInt8], _ index: BlindIndex, by sealer: SessionSealer) -> [UInt8] {
        sealer.seal(bytes, .agentFile(index), random: secrets)
    }

    /// Number of notices before this one. Nil while a notice about a device or a key is in flight, and for a pause after one that no chat took.
    func beginTelling(at now: Instant) -> Int? {
        state.withLock { state in
            guard !state.telling.isUnderWay, state.telling.againAt.map({ $0 <= now }) ?? true else { return nil }
            state.telling.isUnderWay = true
            defer { state.telling.count += 1 }
            return state.telling.count
        }
    }

    func endTelling(_ wasSaid: Bool, at now: Instant) {
        state.withLock { ($0.telling.isUnderWay, $0.telling.againAt) = (false, wasSaid ? nil : now + Self.noticePause) }
    }

    enum Notice {
        case open
        case sealed(SealedContent)
        /// The chat is sealed, and its key is missing.
        case unsaid
    }

    // MARK: Uses of a key

    /// Holds the key of a turn that is about to begin: the ring keeps it until `began` or `neverBegan`. May be called under the lock of
    /// the bridge, since it orders nothing.
    func hold(_ key: KeyName, in session: SessionID, for turn: TurnID) {
        state.withLock { $0.holds[turn, default: 0] += 1 }
        runner.note { $0.turnBegan(in: session, under: key) }
    }

    /// The bridge reports that the turn uses the key.
    func began(_ turn: TurnID, under key: KeyName, in session: SessionID) {
        if !takeHold(of: turn) { runner.note { $0.turnBegan(in: session, under: key) } }
    }

    func neverBegan(_ turn: TurnID, under key: KeyName?, in session: SessionID) {
        if let key, takeHold(of: turn) { ended(under: key, in: session) }
    }

    func ended(under key: KeyName, in session: SessionID) {
        runner.tell { ring, now, _ in ring.turnEnded(in: session, under: key, at: now) }
    }

    private func takeHold(of turn: TurnID) -> Bool {
        state.withLock { state in
            guard let count = state.holds[turn] else { return false }
            state.holds[turn] = count > 1 ? count - 1 : nil
            return true
        }
    }

    // MARK: Chats of our own

    /// Sealing of a turn that the bridge begins in this chat by itself. Holds the key.
    func ownSealing(of chat: SessionID, for turn: TurnID) -> TurnSealing {
        let encryption = encryption
        let (isSealed, key) = runner.ask { ($0.sealsOwnChats(encryption), $0.keyName(for: chat)) }
        guard isSealed else { return .open }
        if let key { hold(key, in: chat, for: turn) }
        return .sealed(key)
    }

    /// Sealing of an agent's own run in a chat of the phone, the same as that of the chat's messages. Nil if the key is missing.
    func homeSealing(of chat: SessionID, for turn: TurnID) -> TurnSealing? {
        let (isSealed, key) = runner.ask { ($0.isSealed(chat), $0.keyName(for: chat)) }
        guard isSealed else { return .open }
        guard let key else { return nil }
        hold(key, in: chat, for: turn)
        return .sealed(key)
    }

    /// True if the bridge may speak in the chat: in the open, or because the phones have its key.
    func mayBegin(in chat: SessionID) -> Bool {
        let encryption = encryption
        return runner.ask { !$0.sealsOwnChats(encryption) || $0.isGranted(chat) }
    }

    /// True if a phone that could read a new chat is known, or none is needed.
    var mayMakeChats: Bool {
        let encryption = encryption
        return runner.ask { !$0.sealsOwnChats(encryption) || !$0.book.devices(.pinned).isEmpty }
    }
}
