package import Vocabulary

/// The two calls that a `KeyRing` orders, as compact JSON with its members in a fixed order.
/// Neither has an idempotency key: a second call repeats the first.
package enum KeyRingCalls {
    /// relay.md#devices.
    package static let registrationPath = "/v1/bridge/devices"

    package static func registration(publicKey: String, label: String?) -> [UInt8] {
        var json = JSONObjectWriter()
        json.string("pubkey", publicKey)
        json.string("label", label)
        return json.finish()
    }
}

extension KeyGrant {
    /// relay.md#sessionssession_idrecipients. Nil if a path cannot contain the session's id.
    package var path: String? {
        let isPlain = session.text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isPlain && !session.text.isEmpty ? "/v1/bridge/sessions/\(session.text)/recipients" : nil
    }

    package var body: [UInt8] {
        var json = JSONObjectWriter()
        let recipients = recipients.map { recipient in
            var json = JSONObjectWriter()
            json.string("device_id", recipient.device.text)
            json.string("wrapped_session_key", recipient.wrappedKey)
            return json.finish()
        }
        json.raw(
            "recipients", [UInt8(ascii: "[")] + recipients.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")])
        json.string("wrapped_by_device_id", wrappedBy?.text)
        return json.finish()
    }
}

extension KeyCallAnswer {
    /// Maps the relay's answer. A call is retried if the relay asks to wait, is in trouble or did not answer itself.
    package init(_ answer: RelayAnswer, receipt: (RelayReceipt) -> Receipt?) {
        switch answer.outcome {
        case .delivered(let delivered): self = receipt(delivered).map { .delivered($0) } ?? .later(nil)
        case .unknown: self = .later(nil)
        case .refused(let refusal):
            let comesBack = [408, 425, 429].contains(refusal.status) || refusal.status >= 500
            self = comesBack || refusal.retryAfter != nil ? .later(refusal.retryAfter) : .refused
        }
    }
}

extension KeyCallAnswer<RegistrationReceipt> {
    package init(_ answer: RelayAnswer) {
        self.init(answer) { receipt in
            receipt.device.map { RegistrationReceipt(device: $0, keyChanged: receipt.publicKeyChanged) }
        }
    }
}

extension KeyCallAnswer<GrantReceipt> {
    package init(_ answer: RelayAnswer) { self.init(answer) { _ in GrantReceipt() } }
}
