import Sealing
import Vocabulary

/// Faults of `PlantedFault` in a ring of keys that show when the two files tell the next process something else than
/// the ring holds.
enum RingFaults {
    /// Files as a start finds them. `kept`: the files on the disk when the process ended. `wall`: the newest pairing,
    /// in milliseconds since 1970.
    static func read(
        _ stored: StoredKeyRing, kept: StoredKeyRing?, as installation: String, pairedAt wall: Int64
    ) -> StoredKeyRing {
        var read = stored
        #if PLANTED_FAULTS
            switch PlantedFault.planted {
            case .keyAfterEnd: read.changeEnded { if $0.last != nil { $0.last = nil } }
            case .ownChatForgotten: read.changeEnded { $0.isOurs = nil }
            case .bookForgotten where stored.devices == nil: read.devices = kept?.devices.map { blank($0, stored.keys) }
            case .lostKeysForgotten:
                read.devices?.chats = (stored.devices?.chats ?? [:]).filter { stored.keys.keys[$0.key] != nil }
                read.keys.endedMarks = nil
            // A chat without an earlier key saw no revocation.
            case .keyWithoutRevocation: read.changeChats { if $0.past == nil { $0.changeExpected = true } }
            case .keysWithoutEnd: read.changeChats { if $0.past != nil { $0.changeExpected = true } }
            case .replacedKeyTaken: read.bringBackKeys()
            case .openKeyForgotten: read.changeChats { $0.older = [] }
            case .pairedAnew where read.devices?.pairedAt != wall: read.devices?.pairedAt = wall
            case .movedIntoTheOpen where stored.devices.map { $0.installation != installation } == true:
                (read.keys.keys, read.keys.endedMarks) = ([:], nil)
                read.devices?.chats = [:]
                read.devices?.ended = nil
                read.devices?.endedMarks = nil
            case .olderBookTaken: (read.keys.saveNumber, read.keys.endedMarks) = (nil, nil)
            default: break
            }
        #endif
        return read
    }

    /// A devices file that names no device of a person.
    private static func blank(_ devices: StoredKeyRing.Devices, _ keys: StoredKeyRing.Keys) -> StoredKeyRing.Devices {
        var blank = devices
        (blank.devices, blank.chats, blank.ended, blank.endedMarks) = ([], [:], nil, nil)
        (blank.hasPinned, blank.isLost, blank.pairedAt, blank.saveNumber) = (false, nil, nil, keys.saveNumber)
        return blank
    }

    /// A setting of the connection: the ring grants keys to every device.
    static var trustsAll: Bool {
        #if PLANTED_FAULTS
            PlantedFault.unpinnedGranted.isPlanted
        #else
            false
        #endif
    }

    /// The journal loses the mark of a message.
    static var forgetsMarks: Bool {
        #if PLANTED_FAULTS
            PlantedFault.envelopeTakenTwice.isPlanted
        #else
            false
        #endif
    }
}

#if PLANTED_FAULTS
    extension StoredKeyRing {
        fileprivate mutating func changeChats(_ change: (inout Devices.Chat) -> Void) {
            for session in (devices?.chats ?? [:]).keys.sorted() {
                guard var chat = devices?.chats[session] else { continue }
                change(&chat)
                devices?.chats[session] = chat
            }
        }

        /// The older key of an open turn takes the place of the key that replaced it.
        fileprivate mutating func bringBackKeys() {
            for session in (devices?.chats ?? [:]).keys.sorted() {
                guard var chat = devices?.chats[session], let newest = keys.keys[session], let older = chat.older.last,
                    let name = chat.name, let earlier = chat.past?.last
                else { continue }
                chat.older[chat.older.count - 1] = newest
                chat.past = (chat.past ?? []).dropLast() + [name]
                chat.name = earlier
                keys.keys[session] = older
                devices?.chats[session] = chat
            }
        }

        fileprivate mutating func changeEnded(_ change: (inout Devices.Ended) -> Void) {
            guard var ended = devices?.ended else { return }
            for index in ended.indices { change(&ended[index]) }
            devices?.ended = ended
        }
    }
#endif
