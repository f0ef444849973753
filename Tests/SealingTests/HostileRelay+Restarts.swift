import Crypto
import Sealing
import Testing
import Vocabulary

// Restarts of the process, and losses of its files.
extension HostileRelay {
    enum Files: String {
        case whole
        /// The process died between the two files of a save.
        case torn
        case withoutBook, withoutKeys
        /// An older copy stands in place of the devices file.
        case olderBook
    }

    mutating func lostFiles() -> Files {
        switch pick(8) {
        case 0: talk.saved?.keys.keys.isEmpty == false ? .withoutBook : .whole
        case 1: .withoutKeys
        case 2, 3: (copy?.saveNumber ?? .max) < (talk.saved?.keys.saveNumber ?? 0) ? .olderBook : .whole
        default: .whole
        }
    }

    mutating func restart(_ files: Files) throws {
        guard var stored = talk.saved else { return }
        switch files {
        case .whole: break
        case .torn: stored.keys = kept?.keys ?? StoredKeyRing.Keys()
        case .withoutBook: stored.devices = nil
        case .withoutKeys: stored.keys = StoredKeyRing.Keys()
        case .olderBook: stored.devices = copy
        }
        stored = RingFaults.read(stored, kept: talk.saved, as: installation, pairedAt: credentials)
        log.append("restart \(files) as \(installation)")
        var next = try RingConversation(
            stored: stored, trusts: RingFaults.trustsAll, minutesAfterPairing: 600, installation: installation,
            pairedAt: files == .withoutBook && pick(2) == 0 ? nil : credentials)
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
        if files != .whole {
            turns.removeAll { turn in !talk.ring.has(turn.key, of: SessionID(turn.session)) }
        }
        if files == .withoutBook { forgetBook(stored.keys) }
        if files == .olderBook, let copy { takeCopy(copy, stored.keys) }
        if files == .withoutKeys || files == .torn { lookAtChats() }
        for name in chats.keys { chats[name]?.settlesUntil = nil }
    }

    /// The judge knows only which chats have keys and which had ended.
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

    /// The judge knows the devices of the copy, none of them chosen. The keys file names the current keys.
    private mutating func takeCopy(_ copy: StoredKeyRing.Devices, _ keys: StoredKeyRing.Keys) {
        let isOther = copy.installation != installation
        let before = chats
        forgetBook(isOther ? StoredKeyRing.Keys() : keys)
        guard !isOther else { return }
        for device in copy.devices {
            let id = DeviceID(device.id)
            standing[id] = Hexadecimal.bytes(device.publicKey)
            if device.standing == .refused { refused.insert(id) }
            if device.standing == .revoked { revokedDevices.insert(id) }
        }
        for (name, chat) in copy.chats where chats[name]?.isMarked == false {
            let hasSameKey = chat.name == chats[name]?.keys.last?.text
            chats[name]?.isOurs = chat.isOurs
            chats[name]?.burnt = before[name]?.burnt ?? []
            chats[name]?.mayChange = !chat.isOurs && chat.changeExpected == true && hasSameKey
        }
    }

    /// A torn save may have lost its event, which the relay then repeats; the judge checks the chat's key regardless.
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
}
