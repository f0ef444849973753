package import Vocabulary

/// Orders of a `KeyRing`, carried out one after the other.
package enum KeyRingOrder: Sendable {
    /// Write the files and wait for the disk, then call `saved` or `notSaved`. At most one is under way.
    case save(StoredKeyRing, revision: Int)
    /// `POST devices`, then call `registrationAnswered` (relay.md#devices).
    case register(publicKey: String, number: Int)
    /// `POST sessions/<id>/recipients`, then call `grantAnswered`.
    case grant(KeyGrant)
    /// The update's change is on the disk, or it changed nothing.
    case acknowledge(UpdateID)
    /// The update's change was not saved: the relay sends it again.
    case letGo(UpdateID)
    /// The chat has a usable key: turns that wait for it can continue.
    case keyReady(SessionID, KeyName)
    /// Each pinned device that can receive the key of this chat of our own has it: the bridge may write there.
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
    /// Nil while this bridge does not know its device id.
    package var wrappedBy: DeviceID?
}

/// Outcome of a call that a `KeyRing` ordered.
package enum KeyCallAnswer<Receipt: Sendable & Hashable>: Hashable, Sendable {
    case delivered(Receipt)
    /// Failed for now, or unknown: retried after this delay at the earliest.
    case later(Duration?)
    /// Refused for good. Repeated on the next link.
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

/// News for people, without any secret.
package enum KeyRingNews: Hashable, Sendable {
    case devicePinned(NumberedDevice)
    /// No key is wrapped for the device until the person allows it.
    case deviceHeld(NumberedDevice)
    case deviceChangedKey(NumberedDevice)
    case deviceRevoked(NumberedDevice)
    /// The person refused the device.
    case deviceRefused(NumberedDevice)
    case deviceUnusable(DeviceID)
    case tooManyDevices
    /// `after` is the revoked device, or nil if files of an earlier version name neither it nor the
    /// key before. `isFurther`: another phone's key came before this one.
    case keyChanged(SessionID, after: NumberedDevice?, isFurther: Bool)
    /// A different key was granted for a chat that has or had one, without a revocation.
    case keyRefused(SessionID)
    case grantUnreadable(SessionID, SealingError)
    /// No room for another chat's key. No old key gives way: its chat could continue in the open.
    case tooManyKeys
    case registrationRefused
    /// Keys existed without the devices' file, or with an older copy of it: each device is held.
    case bookLost
    /// The relay does not pass this chat's key on to the device.
    case grantRefused(SessionID, NumberedDevice)
    /// The relay knew another public key of this bridge: keys granted to that one must be granted again.
    case registeredAnew
    case notSaved
}

/// The relay has the wrapped keys. Its answer contains no more.
package struct GrantReceipt: Hashable, Sendable {
    package init() {}
}
