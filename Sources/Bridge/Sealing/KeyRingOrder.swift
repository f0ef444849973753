package import Vocabulary

/// What a `KeyRing` wants done. Orders are carried out one after the other.
package enum KeyRingOrder: Sendable {
    /// Write the files and wait for the disk, then call `saved` or `notSaved`. At most one is under way.
    case save(StoredKeyRing, revision: Int)
    /// `POST devices`, then call `registrationAnswered` (relay.md#devices).
    case register(publicKey: String, number: Int)
    /// `POST sessions/<id>/recipients`, then call `grantAnswered`.
    case grant(KeyGrant)
    /// What the update changed is on the disk, or it changed nothing.
    case acknowledge(UpdateID)
    /// It could not be kept: the relay sends it again.
    case letGo(UpdateID)
    /// The chat has a usable key: turns that wait for it can go on.
    case keyReady(SessionID, KeyName)
    /// Each pinned device that can have the key of this chat of our own has it: something may be said there.
    case chatGranted(SessionID)
    case tell(KeyRingNews)
}

/// One chat's key, wrapped for each device that lacks it (relay.md#sessionssession_idrecipients).
package struct KeyGrant: Hashable, Sendable {
    package struct Recipient: Hashable, Sendable {
        package var device: DeviceID
        /// A sealed box in base64.
        package var wrappedKey: String
    }

    package var number: Int
    package var session: SessionID
    package var recipients: [Recipient]
    /// Nil: this bridge does not know yet what it is called.
    package var wrappedBy: DeviceID?
}

/// The outcome of a call that a `KeyRing` ordered.
package enum KeyCallAnswer<Receipt: Sendable & Hashable>: Hashable, Sendable {
    case delivered(Receipt)
    /// Not now, or unknown: retried, not before this delay.
    case later(Duration?)
    /// For good. Asked again when the link is up again.
    case refused
}

package struct RegistrationReceipt: Hashable, Sendable {
    package var device: DeviceID
    package var keyChanged: Bool

    package init(device: DeviceID, keyChanged: Bool) {
        self.device = device
        self.keyChanged = keyChanged
    }
}

/// What people should know; nothing secret.
package enum KeyRingNews: Hashable, Sendable {
    case devicePinned(NumberedDevice)
    /// Until it is allowed no key is wrapped for it.
    case deviceHeld(NumberedDevice)
    case deviceChangedKey(NumberedDevice)
    case deviceRevoked(NumberedDevice)
    /// By the person.
    case deviceRefused(NumberedDevice)
    case deviceUnusable(DeviceID)
    case tooManyDevices
    /// `after`: the device that was revoked; nil: files of an earlier version name neither it nor the key before. `isFurther`: another
    /// phone's key had come before it.
    case keyChanged(SessionID, after: NumberedDevice?, isFurther: Bool)
    /// Another key was granted for a chat that has or had one, and no device was revoked.
    case keyRefused(SessionID)
    case grantUnreadable(SessionID, SealingError)
    /// No room for another chat's key: an old one does not give way, or its chat could be gone on with in the open.
    case tooManyKeys
    case registrationRefused
    /// Keys were there without the file of the devices, or with an older copy of it: each device is held.
    case bookLost
    /// The relay does not pass this chat's key on to the device.
    case grantRefused(SessionID, NumberedDevice)
    /// The relay knew another key of this bridge: what was granted to that one must be granted again.
    case registeredAnew
    case notSaved
}

/// The relay has the wrapped keys; it says no more.
package struct GrantReceipt: Hashable, Sendable {
    package init() {}
}
