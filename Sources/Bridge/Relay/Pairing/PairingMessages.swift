import JSONReading
package import Vocabulary

extension Pairing {
    package struct Settings: Sendable {
        package var relay: WebAddress
        /// The relay's name for this kind of bridge.
        package var connector: String
        /// The phone's name for this machine.
        package var hostLabel: String?
        /// A code that the phone made, or nil to have the relay make one.
        package var code: String?
        /// Pause between two reports of `waiting`.
        package var tickInterval: Duration

        package init(
            relay: WebAddress, connector: String, hostLabel: String? = nil, code: String? = nil,
            tickInterval: Duration = .seconds(15)
        ) {
            self.relay = relay
            self.connector = connector
            self.hostLabel = hostLabel
            self.code = code
            self.tickInterval = tickInterval
        }
    }

    /// The code, for the person who pairs.
    package struct Invitation: Hashable, Sendable {
        package var code: String
        /// Address for the confirmation, or nil if only the phone can confirm.
        package var browserURL: String?
        package var expiresAtWallMilliseconds: Int64
        package var lifetime: Duration
    }

    /// Result of the pairing.
    package struct Claim: Hashable, Sendable {
        package var token: Secret
        package var installation: String?
    }

    package struct Failure: Error, Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// No confirmation came in time.
            case timedOut
            case codeExpired
            case unreachable
            /// The relay answered, and refuses to pair.
            case refused
        }

        package var kind: Kind
        package var message: String
    }

    /// Orders to the runner, in sequence.
    package enum Order: Sendable {
        /// Send the request, and report the result by `answered`. One at a time.
        case request(HTTPRequest)
        case invite(Invitation)
        case waiting(elapsed: Duration, remaining: Duration)
        /// The pairing ended with success.
        case claimed(Claim)
        case failed(Failure)
    }
}

/// The relay's answer to `start` or `poll`, in either documented form (relay.md#pairing-the-shipping-form, relay.md#pairing-the-documented-form).
struct PairingAnswer {
    enum Status { case pending, expired, claimed, none }

    private(set) var code: String?
    private(set) var pollToken: String?
    private(set) var browserURL: String?
    private(set) var expiresAtWallMilliseconds: Int64?
    private(set) var status = Status.none
    private(set) var token: String?
    private(set) var installation: String?

    /// Nil unless the response is a success in the relay's envelope.
    init?(_ response: HTTPResponse) {
        guard (200..<300).contains(response.status) else { return nil }
        let parser = FrameParser()
        let isRead = response.body.withUnsafeBytes { bytes -> Bool in
            guard let root = parser.parse(bytes, capacity: bytes.count), root["ok"]?.flag == true,
                let result = root["result"], result.isObject
            else { return false }
            read(result)
            return true
        }
        guard isRead else { return nil }
    }

    private mutating func read(_ result: FrameNode) {
        code = result["code"]?.string
        pollToken = result["poll_token"]?.string.flatMap { (1...1_024).contains($0.utf8.count) ? $0 : nil }
        browserURL = result["browser_url"]?.string
        expiresAtWallMilliseconds = WallTime.milliseconds(result["expires_at"])
        status =
            switch result["status"]?.string {
            case "pending": .pending
            case "expired": .expired
            case "claimed", "paired": .claimed
            default: .none
            }
        token = result["bot_token"]?.string ?? result["token"]?.string
        installation = result["installation_id"]?.string
    }
}
