import RelayRules
import Sealing
import Vocabulary

// A world with sealed chats.
extension WorldRun {
    private static let stranger = "Stranger"

    func prepareSealing(_ sealing: SealingPlan) {
        for side in world.sides {
            side.seals = true
            // A bridge pins announced devices in its first minutes. Later it waits for the person.
            let age: Int64 = sealing.strangerAt == nil ? 0 : 3_600_000
            side.sealing.pairedAt = world.time.wallMilliseconds - age
            side.addsPhone()
            if let moment = sealing.strangerAt { side.addsPhone(Self.stranger, after: moment) }
            if let moment = sealing.rotatesAt {
                let second = side.addsPhone("Second phone")
                world.time.after(moment) { [weak self, weak side] in
                    guard let self, let side else { return }
                    rotate(second, side)
                }
            }
        }
    }

    /// The device that nobody allowed.
    static func stranger(of side: WorldSide) -> WorldPhone? { side.sealing.phones.first { $0.name == stranger } }

    func writesSealed(
        _ text: String, _ side: Int, chat: Int, under first: String? = nil, files: [String] = [], after: Duration
    ) {
        world.time.after(after) { [weak self] in
            guard let self else { return }
            let place = world.sides[side]
            let phone = place.sealing.phones[0]
            let isNew = place.chats[chat] == nil
            let session = place.chats[chat] ?? place.relay.userStartsSession(at: place.moment)
            if isNew {
                place.begins(chat, in: session)
                phone.makeKey(of: session)
                grant(plan.sealing?.grant(side, chat) ?? .first, session, phone, place)
            }
            let interaction = first.flatMap { first in place.sent.first { $0.text == first }?.interaction }
            let made = place.relay.userSends(
                sealedText: phone.seal(text, in: session), session: session, under: interaction,
                attachments: files.isEmpty ? nil : WorldSide.attachments(files), at: place.moment)
            if interaction == nil { place.note(text, made) }
            place.pump()
        }
    }

    private func grant(_ grant: SealingPlan.Grant, _ session: String, _ phone: WorldPhone, _ side: WorldSide) {
        switch grant {
        case .first: grants(session, phone, side, after: .zero)
        case .late(let wait): grants(session, phone, side, after: wait)
        case .twice(let wait):
            grants(session, phone, side, after: .zero)
            grants(session, phone, side, after: wait)
        case .wrongDevice(let wait):
            if let box = phone.box(session, for: phone.publicKey) {
                side.relay.userGrants(session: session, [(phone.id, box)], by: phone.id, at: side.moment)
            }
            grants(session, phone, side, after: wait)
        case .never: break
        }
    }

    /// Grants once the relay knows the bridge's device.
    private func grants(_ session: String, _ phone: WorldPhone, _ side: WorldSide, after: Duration) {
        guard after > .zero || side.relay.bridgeDevice == nil else {
            granted.insert(session)
            return phone.grantToBridge(session, through: &side.relay, at: side.moment)
        }
        world.time.after(max(after, .milliseconds(200))) { [weak self, weak side] in
            guard let self, let side else { return }
            grants(session, phone, side, after: .zero)
            side.pump()
        }
    }

    /// The remaining phone makes a new key for each chat.
    private func rotate(_ second: WorldPhone, _ side: WorldSide) {
        side.relay.userRevokes(device: second.id, at: side.moment)
        let phone = side.sealing.phones[0]
        for session in side.chats.values.sorted() {
            // A chat whose key the bridge still lacks keeps it, because its messages are sealed under it.
            guard granted.contains(session) else { continue }
            phone.makeKey(of: session)
            grants(session, phone, side, after: .milliseconds(300))
        }
        side.pump()
    }
}
