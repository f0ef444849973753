import Crypto
import Sealing
import Testing
import Vocabulary

// Updates of the relay about devices and installations, and decisions of the person.
extension HostileRelay {
    mutating func announce(_ device: DeviceID, _ key: UInt8) throws {
        let phone = try talk.phone(key, id: device.text)
        hear("announce \(device) \(key)", talk.announced(phone))
        let pair = Pair(device: device, publicKey: phone.publicKey)
        let isPairing = talk.wall <= pairedAt + DeviceBook.pairingMilliseconds && !isBookLost
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

    /// A new pairing, which a person makes after the relay refused the token. The relay says which installation the
    /// new token belongs to.
    mutating func pair(with next: String, isRestarted: Bool) throws {
        talk.wall += 1
        credentials = talk.wall
        if chosen.isEmpty, isNew, !isBookLost, chats.values.allSatisfy(\.keys.isEmpty) {
            pairedAt = talk.wall
        } else {
            isNew = false
        }
        let isOther = next != installation
        installation = next
        if isOther {
            (chosen, standing, refused, revokedDevices, turns) = ([], [:], [], [], [])
            for (name, chat) in chats where !chat.keys.isEmpty {
                var left = Chat()
                (left.keys, left.isEnded, left.isMarked) = (chat.keys, true, true)
                chats[name] = left
            }
        }
        if isRestarted { return try restart(.whole) }
        hear("pair \(next)", talk.paired(with: next))
    }

    mutating func revoke(_ device: DeviceID) {
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

    /// The device that leaves knows the current key of our own chats.
    private mutating func burn() {
        for (name, chat) in chats where chat.isOurs {
            if let key = chat.keys.last { chats[name]?.burnt.insert(key) }
        }
    }

    mutating func allow(_ device: DeviceID) {
        hear("allow \(device)", talk.allow(device.text))
        guard let key = standing[device] else { return }
        chosen.insert(Pair(device: device, publicKey: key))
        refused.remove(device)
        revokedDevices.remove(device)
        isNew = false
    }

    mutating func refuse(_ device: DeviceID) {
        let isChosen = chosen.contains { $0.device == device }
        hear("refuse \(device)", talk.refuse(device.text))
        chosen = chosen.filter { $0.device != device }
        if standing[device] != nil { refused.insert(device) }
        // An ended chat of our own keeps its key: only the relay's end closed it.
        if isChosen, chats[Self.own]?.isEnded == false { burn() }
    }
}
