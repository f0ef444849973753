import Crypto
import Sealing
import Testing
import Vocabulary

/// A relay that sends what it likes about four chats and four devices, and the judge's record of what persons chose.
///
/// A key belongs to a chat if it was the first there, if this bridge made it, or if it came after the revocation of a
/// device that may read, and the chat hears of the change. An ended chat accepts one such key; a live chat accepts
/// one for each phone left, within 10 minutes.
/// A person chooses a device by the pairing, by its being the first of all, or by word. A pairing counts only before
/// any device and any key.
/// The process may end at any moment, also between the two files of a save, and may lose either file.
struct HostileRelay {
    struct Chat {
        /// Keys of the chat so far, the newest last.
        var keys: [KeyName] = []
        var isOurs = false
        var isEnded = false
        /// The file has only a mark of this chat, which accepts no key.
        var isMarked = false
        /// A device was revoked, and no key has followed yet.
        var mayChange = false
        /// Deadline for the keys of the surviving phones, one each; `furtherKeys` counts those still to come.
        var settlesUntil: Int64?
        var furtherKeys = 0
        /// Keys of our own chat that a revoked or refused device knows.
        var burnt: Set<KeyName> = []
    }

    struct Pair: Hashable {
        var device: DeviceID
        var publicKey: [UInt8]
    }

    /// Updates that the relay can send, and send again.
    enum Update {
        case grant(String, UInt8)
        /// A key that this bridge made, granted back by a phone that has it.
        case grantOurs(Int)
        case end(String)
        case announce(DeviceID, UInt8)
        case revoke(DeviceID)
        case message(Int, String)
    }

    static let foreign = UInt8(20)..<26
    static let own = "own"

    var talk: RingConversation
    var random: SeededGenerator
    var foreignNames: Set<KeyName> = []
    var ourKeys: [SecretKey] = []
    var chats: [String: Chat] = [:]
    var chosen: Set<Pair> = []
    var refused: Set<DeviceID> = []
    var revokedDevices: Set<DeviceID> = []
    var standing: [DeviceID: [UInt8]] = [:]
    var isNew = true
    var isBookLost = false
    /// Time of the pairing that pins devices.
    var pairedAt = RingConversation.pairedAt
    /// Time of the newest pairing, as the credentials have it.
    var credentials = RingConversation.pairedAt
    var installation = "inst_a"
    var heard: [String] = []
    var turns: [(session: String, key: KeyName)] = []
    /// Files on the disk when the newest event came.
    var kept: StoredKeyRing?
    /// An older devices file that the person copied away.
    var copy: StoredKeyRing.Devices?
    var sent: [Update] = []
    var envelopes: [(text: String, isOurs: Bool)] = []
    var replays = ReplayGuard()
    var marks: [String: [UInt8]] = [:]
    var taken: [String] = []
    var log: [String] = []

    static func firstViolation(seed: UInt64) throws -> String? {
        var relay = try HostileRelay(seed: seed)
        for _ in 0..<60 {
            if let violation = try relay.step() { return "\(violation) after \(relay.log.joined(separator: ", "))" }
        }
        return nil
    }

    private init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        talk = try RingConversation(
            trusts: RingFaults.trustsAll, minutesAfterPairing: seed % 3 == 0 ? 1 : 600, installation: installation)
        for key in Self.foreign { foreignNames.insert(try talk.name(key)) }
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        kept = talk.saved
    }

    mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func step() throws -> String? {
        heard = []
        let session = ["ses_0", "ses_1", "ses_2", Self.own][pick(4)]
        let device = DeviceID("phone-\(pick(4) + 1)")
        switch pick(26) {
        case 0...3: try say(.grant(session, UInt8(20 + pick(6))))
        case 4: if !ourKeys.isEmpty { try say(.grantOurs(pick(ourKeys.count))) }
        case 5, 6: try say(.end(session))
        case 7, 8: try say(.announce(device, UInt8(pick(4) + 1)))
        case 9: try say(.revoke(device))
        case 10: if let update = sent.randomElement(using: &random) { try perform(update) }
        case 11: allow(device)
        case 12: refuse(device)
        case 13, 14: make()
        case 15, 16: begin(session)
        case 17: end(turn: pick(4))
        case 18: try restart(lostFiles())
        case 19: write(in: session)
        case 20: if !envelopes.isEmpty { try say(.message(pick(envelopes.count), session)) }
        case 21:
            talk.wall += 11 * 60_000
            hear("11 minutes", talk.pass(.seconds(660)))
        case 22: try pair(with: pick(3) == 0 ? "inst_b" : "inst_a", isRestarted: pick(2) == 0)
        case 23: copy = kept?.devices
        default: hear("time", talk.pass(.seconds(120)))
        }
        if heard.contains("save"), pick(8) == 0 { try restart(.torn) }
        if pick(3) > 0 { hear("kept", talk.allKept()) } else { hear("not kept", talk.notKept()) }
        hear("time", talk.pass(.seconds(10)))
        hear("kept", talk.allKept())
        kept = talk.saved
        noteOurKeys()
        return try judgeKeys() ?? judgeTurns() ?? judgeEnvelopes() ?? judgeGrants()
    }

    mutating func hear(_ event: String, _ lines: [String]) {
        log.append(event)
        heard += lines
    }

    private mutating func say(_ update: Update) throws {
        sent.append(update)
        try perform(update)
    }

    private mutating func perform(_ update: Update) throws {
        switch update {
        case .grant(let session, let key):
            try grant(session, talk.bench.key(key), "\(key)")
        case .grantOurs(let number): try grant(Self.own, ourKeys[number], "of ours")
        case .end(let session): end(session)
        case .announce(let device, let key): try announce(device, key)
        case .revoke(let device): revoke(device)
        case .message(let number, let session): message(envelopes[number].text, in: session)
        }
    }

    // MARK: Keys

    private mutating func grant(_ session: String, _ secret: SecretKey, _ key: String) throws {
        let (name, before) = (KeyName(of: secret, library: talk.bench.library), chats[session] ?? Chat())
        hear("grant \(session) \(key)", talk.granted(session, wrapped: try talk.wrapped(secret)))
        let isTold = heard.contains { $0.hasPrefix("tell keyChanged(\(session)") }
        let maySettle = !before.isEnded && before.furtherKeys > 0 && (before.settlesUntil ?? .min) >= talk.wall
        var after = before
        if before.isMarked { return }
        if before.keys.isEmpty {
            after.keys = [name]
        } else if before.isEnded, before.keys.last == name, !before.mayChange {
            after.isEnded = false
        } else if before.mayChange || maySettle, !before.isOurs, !before.keys.contains(name), isTold {
            after.keys.append(name)
            after.furtherKeys -= 1
            if before.mayChange, !before.isEnded {
                (after.settlesUntil, after.furtherKeys) = (talk.wall + 10 * 60_000, max(1, chosen.count) - 1)
            }
            (after.mayChange, after.isEnded) = (false, false)
        }
        chats[session] = after
    }

    private mutating func end(_ session: String) {
        hear("end \(session)", talk.ended(session))
        guard chats[session]?.keys.isEmpty == false else { return }
        chats[session]?.isEnded = true
        chats[session]?.settlesUntil = nil
    }

    private mutating func make() {
        let before = talk.ring.keyName(for: SessionID(Self.own))
        hear("make", talk.makeKey(Self.own))
        hear("kept", talk.allKept())
        guard let key = talk.ring.keyName(for: SessionID(Self.own)), key != before else { return }
        // The bridge left a chat that the relay had given this name, and the chat's turns.
        if chats[Self.own]?.isOurs != true { turns.removeAll { $0.session == Self.own } }
        var chat = chats[Self.own] ?? Chat()
        chat.keys.append(key)
        (chat.isOurs, chat.isEnded, chat.isMarked, chat.mayChange) = (true, false, false, false)
        chats[Self.own] = chat
    }

    /// A phone that may read knows our own keys, and can grant them again.
    private mutating func noteOurKeys() {
        guard chats[Self.own]?.isOurs == true, let hex = talk.saved?.keys.keys[Self.own], let key = SecretKey(hex: hex)
        else { return }
        let name = KeyName(of: key, library: talk.bench.library)
        if !ourKeys.contains(key), !foreignNames.contains(name) { ourKeys.append(key) }
        if chats[Self.own]?.keys.last != name { chats[Self.own]?.keys.append(name) }
    }

    // MARK: Turns and messages

    private mutating func begin(_ session: String) {
        guard turns.count < 4, let name = talk.ring.keyName(for: SessionID(session)) else { return }
        log.append("turn \(session)")
        talk.ring.turnBegan(in: SessionID(session), under: name)
        turns.append((session, name))
    }

    private mutating func end(turn: Int) {
        guard turns.indices.contains(turn) else { return }
        let ended = turns.remove(at: turn)
        hear("turn ended", talk.turnEnded(ended.session, ended.key))
    }

    /// Seals a text under the key of the chat, as a phone or as this bridge.
    private mutating func write(in session: String) {
        guard let key = talk.ring.keyName(for: SessionID(session)),
            let sealer = talk.ring.sealer(SessionID(session), key)
        else { return }
        let isOurs = pick(3) == 0
        let text = sealer.seal("words", .messages, random: talk.bench.library)
        if isOurs { replays.said(text) }
        envelopes.append((text, isOurs))
    }

    /// Delivers the envelope as a new message each time; the journal knows the marks of those accepted before.
    private mutating func message(_ text: String, in session: String) {
        log.append("message in \(session)")
        guard case .text = talk.ring.open(text, in: SessionID(session), mayBeEmpty: false), !replays.isOurs(text) else {
            return
        }
        let message = AcceptedMessage(
            message: MessageID("\(taken.count)-\(log.count)"), update: UpdateID("u"), turn: TurnID("t"),
            session: SessionID(session), interaction: nil, opening: [], wall: talk.wall,
            mark: ReplayGuard.mark(of: text))
        if let mark = message.markSetting {
            if let known = marks[mark.name], message.isReplayed(known, since: talk.wall - 30 * 86_400_000) { return }
            if !RingFaults.forgetsMarks { marks[mark.name] = mark.value }
        }
        taken.append(text)
    }

    // MARK: Judgement

    private func judgeKeys() throws -> String? {
        for (session, chat) in chats where !chat.keys.isEmpty {
            guard talk.ring.isSealed(SessionID(session)) else { return "\(session) is open again" }
            guard let key = talk.ring.keyName(for: SessionID(session)) else { continue }
            if chat.isMarked { return "\(session) has a key, and it is not known which it had" }
            if chat.isOurs {
                if foreignNames.contains(key) { return "\(session) of ours has a key from outside" }
                if chat.burnt.contains(key) {
                    return "\(session) of ours has a key that a device has which may not read"
                }
            } else if chat.keys.last != key {
                return "\(session) has a key that nobody chose"
            }
        }
        return nil
    }

    private func judgeTurns() -> String? {
        turns.first { !talk.ring.has($0.key, of: SessionID($0.session)) }.map {
            "the key of a turn in \($0.session) is gone"
        }
    }

    private func judgeEnvelopes() -> String? {
        if Set(taken).count < taken.count { return "an envelope is taken twice" }
        return taken.contains { text in envelopes.contains { $0.isOurs && $0.text == text } }
            ? "an envelope of ours is taken for the user's" : nil
    }

    private mutating func judgeGrants() throws -> String? {
        defer { talk.grants = [] }
        for grant in talk.grants {
            for recipient in grant.recipients {
                let keys = chosen.filter { $0.device == recipient.device }.map(\.publicKey)
                let box = Base64.decode(recipient.wrappedKey) ?? []
                let isReadable = try (UInt8(1)...4).contains { number in
                    guard keys.contains(try talk.phone(number).publicKey) else { return false }
                    return
                        (try? SealedBox.open(box, with: try talk.bench.key(number), library: talk.bench.library)) != nil
                }
                if !isReadable { return "a key is wrapped for \(recipient.device), which nobody chose" }
            }
            hear("granted", talk.answered(grant.number, .delivered(GrantReceipt())))
        }
        return nil
    }
}
