import BridgeModel
import Crypto
import Sealing
import Testing

/// A relay that sends what it likes about four chats and four devices, and a book of what persons chose beside it.
///
/// A key belongs to a chat if it was the first there, if this bridge made it, or if it came after the revocation of a device that may read,
/// and the chat hears of it: one for an ended chat, and within 10 minutes more for a live one. A device is chosen by the pairing, by being
/// the first of a new installation, or by the person's word. A process may end at any moment, also between the two files, and either of
/// them may be lost.
struct HostileRelay {
    private struct Chat {
        /// Every key it had, the newest last.
        var keys: [KeyName] = []
        var isOurs = false
        var isEnded = false
        /// Known by a mark alone: it takes no key.
        var isMarked = false
        /// A revocation that no key has answered yet.
        var mayChange = false
        /// Each surviving phone may make one until then.
        var settlesUntil: Int64?
        /// Keys of our own that a device has which may not read any more.
        var burnt: Set<KeyName> = []
    }

    private struct Pair: Hashable {
        var device: DeviceID
        var publicKey: [UInt8]
    }

    /// What the relay can say, and say again.
    private enum Update {
        case grant(String, UInt8)
        /// By a phone that has it, a key that this bridge made.
        case grantOurs(Int)
        case end(String)
        case announce(DeviceID, UInt8)
        case revoke(DeviceID)
        case message(Int, String)
    }

    private static let foreign = UInt8(20)..<26
    private static let own = "own"

    private var talk: RingConversation
    private var random: SeededGenerator
    private var foreignNames: Set<KeyName> = []
    private var ourKeys: [SecretKey] = []
    private var chats: [String: Chat] = [:]
    private var chosen: Set<Pair> = []
    private var refused: Set<DeviceID> = []
    private var revokedDevices: Set<DeviceID> = []
    private var standing: [DeviceID: [UInt8]] = [:]
    private var isNew = true
    private var isBookLost = false
    private var heard: [String] = []
    private var turns: [(session: String, key: KeyName)] = []
    /// What the disk had for certain when the newest event came.
    private var kept: StoredKeyRing?
    private var sent: [Update] = []
    private var envelopes: [(text: String, isOurs: Bool)] = []
    private var replays = ReplayGuard()
    private var marks: [String: [UInt8]] = [:]
    private var taken: [String] = []
    private var log: [String] = []

    static func firstViolation(seed: UInt64) throws -> String? {
        var relay = try HostileRelay(seed: seed)
        for _ in 0..<60 {
            if let violation = try relay.step() { return "\(violation) after \(relay.log.joined(separator: ", "))" }
        }
        return nil
    }

    private init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        talk = try RingConversation(minutesAfterPairing: seed % 3 == 0 ? 1 : 600)
        for key in Self.foreign { foreignNames.insert(try talk.name(key)) }
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        kept = talk.saved
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func step() throws -> String? {
        heard = []
        let session = ["ses_0", "ses_1", "ses_2", Self.own][pick(4)]
        let device = DeviceID("phone-\(pick(4) + 1)")
        switch pick(24) {
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
        case 18: try restart(isTorn: false)
        case 19: write(in: session)
        case 20: if !envelopes.isEmpty { try say(.message(pick(envelopes.count), session)) }
        case 21:
            talk.wall += 11 * 60_000
            hear("11 minutes", talk.pass(.seconds(660)))
        default: hear("time", talk.pass(.seconds(120)))
        }
        if heard.contains("save"), pick(8) == 0 { try restart(isTorn: true) }
        if pick(3) > 0 { hear("kept", talk.allKept()) } else { hear("not kept", talk.notKept()) }
        hear("time", talk.pass(.seconds(10)))
        hear("kept", talk.allKept())
        kept = talk.saved
        noteOurKeys()
        return try judgeKeys() ?? judgeTurns() ?? judgeEnvelopes() ?? judgeGrants()
    }

    private mutating func hear(_ event: String, _ lines: [String]) {
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
        let maySettle = !before.isEnded && (before.settlesUntil ?? .min) >= talk.wall
        var after = before
        if before.isMarked { return }
        if before.keys.isEmpty {
            after.keys = [name]
        } else if before.isEnded, before.keys.last == name, !before.mayChange {
            after.isEnded = false
        } else if before.mayChange || maySettle, !before.isOurs, !before.keys.contains(name), isTold {
            after.keys.append(name)
            if before.mayChange, !before.isEnded { after.settlesUntil = talk.wall + 10 * 60_000 }
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
        // A chat that a relay had given this name has been left, with its turns.
        if chats[Self.own]?.isOurs != true { turns.removeAll { $0.session == Self.own } }
        var chat = chats[Self.own] ?? Chat()
        chat.keys.append(key)
        (chat.isOurs, chat.isEnded, chat.isMarked, chat.mayChange) = (true, false, false, false)
        chats[Self.own] = chat
    }

    /// A phone that may read has them, and can grant them again.
    private mutating func noteOurKeys() {
        guard chats[Self.own]?.isOurs == true, let hex = talk.saved?.keys.keys[Self.own], let key = SecretKey(hex: hex)
        else { return }
        let name = KeyName(of: key, library: talk.bench.library)
        if !ourKeys.contains(key), !foreignNames.contains(name) { ourKeys.append(key) }
        if chats[Self.own]?.keys.last != name { chats[Self.own]?.keys.append(name) }
    }

    // MARK: Devices

    private mutating func announce(_ device: DeviceID, _ key: UInt8) throws {
        let phone = try talk.phone(key, id: device.text)
        hear("announce \(device) \(key)", talk.announced(phone))
        let pair = Pair(device: device, publicKey: phone.publicKey)
        let isPairing = talk.wall < RingConversation.pairedAt + DeviceBook.pairingMilliseconds && !isBookLost
        let isKnown = standing[device] == phone.publicKey
        if standing[device] == nil, isNew || isPairing { chosen.insert(pair) }
        if let known = standing[device], known != phone.publicKey { chosen = chosen.filter { $0.device != device } }
        if isKnown, !chosen.contains(pair), !refused.contains(device), isPairing, revokedDevices.contains(device) {
            chosen.insert(pair)
        }
        revokedDevices.remove(device)
        standing[device] = phone.publicKey
        if !chosen.isEmpty { isNew = false }
    }

    private mutating func revoke(_ device: DeviceID) {
        let isChosen = chosen.contains { $0.device == device }
        hear("revoke \(device)", talk.revoked(device.text))
        chosen = chosen.filter { $0.device != device }
        if standing[device] != nil { revokedDevices.insert(device) }
        guard isChosen else { return }
        for name in chats.keys where chats[name]?.keys.isEmpty == false {
            let isOurs = chats[name]?.isOurs == true
            chats[name]?.mayChange = !isOurs
        }
        burn()
    }

    /// The device knows the key that chats of our own have now.
    private mutating func burn() {
        for (name, chat) in chats where chat.isOurs {
            if let key = chat.keys.last { chats[name]?.burnt.insert(key) }
        }
    }

    private mutating func allow(_ device: DeviceID) {
        hear("allow \(device)", talk.allow(device.text))
        guard let key = standing[device] else { return }
        chosen.insert(Pair(device: device, publicKey: key))
        refused.remove(device)
        revokedDevices.remove(device)
        isNew = false
    }

    private mutating func refuse(_ device: DeviceID) {
        let isChosen = chosen.contains { $0.device == device }
        hear("refuse \(device)", talk.refuse(device.text))
        chosen = chosen.filter { $0.device != device }
        if standing[device] != nil { refused.insert(device) }
        // The archive's keys stay what they were: only a relay's word ends them.
        if isChosen, chats[Self.own]?.isEnded == false { burn() }
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

    /// A phone or this bridge, under the key of the chat.
    private mutating func write(in session: String) {
        guard let key = talk.ring.keyName(for: SessionID(session)),
            let sealer = talk.ring.sealer(SessionID(session), key)
        else { return }
        let isOurs = pick(3) == 0
        let text = sealer.seal("words", .messages, random: talk.bench.library)
        if isOurs { replays.said(text) }
        envelopes.append((text, isOurs))
    }

    /// As another message each time, with what the journal knows of those that came.
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
            marks[mark.name] = mark.value
        }
        taken.append(text)
    }

    // MARK: Restarts

    /// `isTorn`: between the two files of the save that is under way.
    private mutating func restart(isTorn: Bool) throws {
        guard var stored = talk.saved else { return }
        let lost = isTorn ? 2 : pick(8)
        let (isBookGone, areKeysGone) = (lost == 0 && !stored.keys.keys.isEmpty, lost == 1)
        if isBookGone { stored.devices = nil }
        if areKeysGone { stored.keys = StoredKeyRing.Keys() }
        if isTorn { stored.keys = kept?.keys ?? StoredKeyRing.Keys() }
        log.append(
            "restart\(isTorn ? " between the files" : isBookGone ? " without the book" : areKeysGone ? " without keys" : "")"
        )
        var next = try RingConversation(stored: stored, minutesAfterPairing: 600)
        (next.wall, next.now, next.saved) = (talk.wall, talk.now, stored)
        talk = next
        replays = ReplayGuard()
        envelopes.removeAll { $0.isOurs }
        sent.removeAll { if case .message = $0 { true } else { false } }
        for turn in turns { talk.ring.turnBegan(in: SessionID(turn.session), under: turn.key) }
        hear("restored", talk.restored())
        hear("kept", talk.allKept())
        hear("link up", talk.linkUp())
        _ = talk.registered()
        if isBookGone || areKeysGone || isTorn {
            turns.removeAll { turn in !talk.ring.has(turn.key, of: SessionID(turn.session)) }
        }
        if isBookGone { forgetBook(stored.keys) }
        if areKeysGone || isTorn { lookAtChats() }
        for name in chats.keys { chats[name]?.settlesUntil = nil }
    }

    /// Which keys were there, and which chats had ended, is all that is known.
    private mutating func forgetBook(_ keys: StoredKeyRing.Keys) {
        (chosen, standing, refused, revokedDevices) = ([], [:], [], [])
        (isNew, isBookLost) = (false, true)
        for (name, chat) in chats where !chat.keys.isEmpty {
            var left = Chat()
            if keys.keys[name] == nil {
                (left.keys, left.isEnded, left.isMarked) = (chat.keys, true, true)
            } else {
                left.keys = chat.keys.suffix(1)
            }
            chats[name] = left
        }
    }

    /// An event whose save was torn may have been in vain: the relay says it again. Which key a chat has is judged all the same.
    private mutating func lookAtChats() {
        for (name, chat) in chats where !chat.keys.isEmpty && !chat.isMarked {
            let key = talk.ring.keyName(for: SessionID(name))
            chats[name]?.isEnded = key == nil
            if !chat.isOurs, let key, key != chat.keys.last, key == chat.keys.dropLast().last {
                chats[name]?.keys.removeLast()
                chats[name]?.mayChange = true
            }
        }
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
