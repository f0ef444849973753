package import Sealing
import Vocabulary

// Reports of the key ring, in words for people.
extension KeyRingNews {
    package var words: String {
        switch self {
        case .devicePinned(let device): "\(device.words) may read encrypted chats"
        case .deviceHeld(let device): "\(device.words) is held: it gets no key until it is allowed"
        case .deviceChangedKey(let device):
            "\(device.words) has another key than before, and is another device: it is held"
        case .deviceRevoked(let device): "\(device.words) was revoked, so that chats get new keys"
        case .deviceRefused(let device): "\(device.words) gets no key any more"
        case .deviceUnusable(let device):
            "the device \(device) has a key under which nothing would be secret; it is left out"
        case .tooManyDevices: "the relay announces more devices than a person has; no more are taken"
        case .keyChanged(let session, let device, let isFurther):
            "the chat \(session) has \(isFurther ? "yet " : "")another key, "
                + (device.map { "after \($0.words) was revoked" }
                    ?? "which files of an earlier version name no reason for")
        case .keyRefused(let session):
            "another key was granted for the chat \(session), and no device was revoked; it goes on under its own"
        case .grantUnreadable(let session, let error): "a key for the chat \(session) cannot be read: \(error)"
        case .tooManyKeys: "there is no room for the keys of more chats"
        case .registrationRefused: "the relay does not take this bridge as a device, so no phone can seal for it"
        case .bookLost:
            "sealing.json was not there, or is of another bridge or an older copy, while session-keys.json was: no phone may read"
        case .grantRefused(let session, let device):
            "the relay does not pass the key of \(session) on to \(device.words)"
        case .registeredAnew: "this bridge has a new device key; each chat must share its key again"
        case .notSaved: "the keys of encrypted chats could not be written; tried again in a while"
        }
    }

    /// Remedy for a person, or nil if there is none.
    package var remedy: String? {
        switch self {
        case .deviceHeld(let device), .deviceChangedKey(let device):
            device.number.map {
                "if it is yours: sophon-bridge devices allow \($0); if it is not: sophon-bridge devices revoke \($0)"
            } ?? "see sophon-bridge devices list"
        case .keyChanged(_, let device, _):
            (device?.number.map { "if you revoked that device: sophon-bridge devices revoke \($0); if you did not" }
                ?? "if you revoked no device") + ", begin another chat, and see sophon-bridge devices list"
        case .tooManyDevices: "see sophon-bridge devices list"
        case .bookLost:
            "open the app on your phone, then run sophon-bridge devices list, and devices allow NUMBER for each that is yours"
        case .tooManyKeys: "delete old chats on the phone"
        case .keyRefused: "if the chat cannot be read on the phone any more, begin another one"
        case .notSaved: "make room on the disk, or let this user write there"
        case .devicePinned, .deviceRevoked, .deviceRefused, .deviceUnusable, .grantUnreadable,
            .registrationRefused, .grantRefused, .registeredAnew:
            nil
        }
    }
}

extension NumberedDevice {
    fileprivate var words: String {
        (number.map { "the device \($0)" } ?? "a device that is known no more") + " (\(DeviceLabel.plain(id.text)))"
    }
}
