import BridgeModel
import Crypto
import Sealing
import Testing

@Suite("The ring of keys in any order of updates")
struct KeyRingPropertyTests {
    @Test("nothing is sealed for a key or a device that no person chose", arguments: 0..<8)
    func anyOrder(part: UInt64) throws {
        for seed in part * 40..<(part + 1) * 40 {
            #expect(try HostileRelay.firstViolation(seed: seed) == nil, "seed \(seed)")
        }
    }

    @Test(
        "a ring with a fault is caught",
        arguments: [PlantedFault.unpinnedGranted, .keyAfterEnd, .bookForgotten])
    func planted(fault: PlantedFault) throws {
        try PlantedFault.$planted.withValue(fault) {
            let seed = try (UInt64(0)..<320).first { try HostileRelay.firstViolation(seed: $0) != nil }
            #expect(seed != nil)
        }
    }
}

/// A relay that sends what it likes about three chats and four devices, and a book of what persons chose beside it.
///
/// A key belongs to a chat if it was the first there, if this bridge made it, or if it came after the revocation of a device that had the
/// chat, once for each, and the chat heard of it. A device is chosen by the pairing, by being the first of a new installation, or by the
/// person's word.
private struct HostileRelay {
    private struct Chat {
        /// Every key it had, the newest last.
        var keys: [KeyName] = []
        var isOurs = false
        var isEnded = false
        /// A revocation that no key has answered yet.
        var mayChange = false
        /// In a live chat each surviving phone may make one.
        var maySettle = false
    }

    private struct Pair: Hashable {
        var device: DeviceID
        var publicKey: [UInt8]
    }

    private var talk: RingConversation
    private var random: SeededGenerator
    private var chats: [String: Chat] = [:]
    private var chosen: Set<Pair> = []
    private var refused: Set<DeviceID> = []
    private var revokedDevices: Set<DeviceID> = []
    private var standing: [DeviceID: [UInt8]] = [:]
    private var isNew = true
    private var heard: [String] = []
    private var turns: [(session: String, key: KeyName)] = []
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
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func step() throws -> String? {
        heard = []
        let session = "ses_\(pick(3))"
        let device = DeviceID("phone-\(pick(4) + 1)")
        switch pick(16) {
        case 0...3: try grant(session, UInt8(20 + pick(6)))
        case 4, 5: end(session)
        case 6, 7: try announce(device, UInt8(pick(4) + 1))
        case 8: revoke(device)
        case 9: allow(device)
        case 10: refuse(device)
        case 11: make("own")
        case 12: if let name = talk.ring.keyName(for: SessionID(session)) { begin(session, name) }
        case 13: if let turn = turns.popLast() { hear("turn ended", talk.turnEnded(turn.session, turn.key)) }
        case 14: try restart()
        default: hear("time", talk.pass(.seconds(120)))
        }
        if pick(3) > 0 { hear("kept", talk.allKept()) } else { hear("not kept", talk.notKept()) }
        hear("time", talk.pass(.seconds(10)))
        hear("kept", talk.allKept())
        return try judgeKeys() ?? judgeGrants()
    }

    private mutating func hear(_ event: String, _ lines: [String]) {
        log.append(event)
        heard += lines
    }

    // MARK: Events

    private mutating func grant(_ session: String, _ key: UInt8) throws {
        let (name, before) = (try talk.name(key), chats[session] ?? Chat())
        hear("grant \(session) \(key)", try talk.granted(session, key))
        let isTold = heard.contains { $0.hasPrefix("tell keyChanged(\(session)") }
        var after = before
        if before.keys.isEmpty {
            after.keys = [name]
        } else if before.isEnded, before.keys.last == name, !before.mayChange {
            after.isEnded = false
        } else if (before.mayChange || before.maySettle), !before.isOurs, !before.keys.contains(name), isTold {
            after.keys.append(name)
            (after.mayChange, after.maySettle, after.isEnded) = (false, !before.isEnded, false)
        }
        chats[session] = after
    }

    private mutating func end(_ session: String) {
        hear("end \(session)", talk.ended(session))
        if chats[session]?.keys.isEmpty == false {
            chats[session]?.isEnded = true
            chats[session]?.maySettle = false
        }
    }

    private mutating func announce(_ device: DeviceID, _ key: UInt8) throws {
        let phone = try talk.phone(key, id: device.text)
        hear("announce \(device) \(key)", talk.announced(phone))
        let pair = Pair(device: device, publicKey: phone.publicKey)
        let isPairing = talk.wall < RingConversation.pairedAt + DeviceBook.pairingMilliseconds
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
        for name in chats.keys where chats[name]?.isOurs == false && chats[name]?.keys.isEmpty == false {
            chats[name]?.mayChange = true
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
        hear("refuse \(device)", talk.refuse(device.text))
        chosen = chosen.filter { $0.device != device }
        if standing[device] != nil { refused.insert(device) }
    }

    private mutating func make(_ session: String) {
        if chats[session] != nil, pick(2) == 0 { return end(session) }
        hear("make \(session)", talk.makeKey(session))
        guard talk.ring.isSealed(SessionID(session)) else { return }
        chats[session, default: Chat()].isOurs = true
        chats[session]?.isEnded = false
    }

    private mutating func begin(_ session: String, _ name: KeyName) {
        log.append("turn \(session)")
        talk.ring.turnBegan(in: SessionID(session), under: name)
        turns.append((session, name))
    }

    /// Sometimes without the book, which somebody has deleted.
    private mutating func restart() throws {
        guard var stored = talk.saved else { return }
        let isBookLost = pick(3) == 0 && !stored.keys.keys.isEmpty
        if isBookLost { stored.devices = nil }
        log.append(isBookLost ? "restart without the book" : "restart")
        var next = try RingConversation(stored: stored)
        (next.wall, next.now) = (talk.wall, talk.now)
        talk = next
        turns = []
        if isBookLost {
            (chosen, standing, refused, revokedDevices, isNew) = ([], [:], [], [], false)
            // Which key was there is all that is known.
            chats = chats.filter { stored.keys.keys[$0.key] != nil }
            for name in chats.keys {
                chats[name]?.mayChange = false
                chats[name]?.maySettle = false
            }
        }
        hear("restored", talk.restored())
        hear("link up", talk.linkUp())
        _ = talk.registered()
    }

    // MARK: Judgement

    private func judgeKeys() throws -> String? {
        let foreign = Set(try (UInt8(20)..<26).map { try talk.name($0) })
        for (session, chat) in chats {
            guard let key = talk.ring.keyName(for: SessionID(session)) else { continue }
            if chat.isOurs {
                if foreign.contains(key) { return "\(session) of ours has a key from outside" }
            } else if chat.keys.last != key {
                return "\(session) has a key that nobody chose"
            }
        }
        for (session, chat) in chats where !chat.keys.isEmpty && !talk.ring.isSealed(SessionID(session)) {
            return "\(session) is open again"
        }
        return nil
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
