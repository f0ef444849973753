import Vocabulary

/// The next step after a refused introduction (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
enum ConnectVerdict: Hashable {
    case again(Redial, OpenClawSession.Trouble?)
    /// Gateways of early 2026 do not know signed text v3.
    case signTheOldWay
    case showDeviceToken

    /// Measures already tried. Each is tried once.
    struct Tried {
        var proof: DeviceProof.Version?
        var hasKeptToken: Bool
        var usedKeptToken: Bool
        var mayShowDeviceToken: Bool
    }

    /// The gateway's owner is about to approve the bridge, so retry soon.
    private static let pairingInterval = Duration.seconds(15)
    /// A person may mend the cause at any time, but gateways count a faster retry as an attack.
    static let mendingInterval = Duration.seconds(60)
    private static let rateLimitInterval = Duration.seconds(900)

    /// No refusal is final: a cause that only a person can mend is retried at `mendingInterval`.
    init(_ refusal: ConnectRefusal, tried: Tried) {
        if refusal.code == "UNAVAILABLE", refusal.detail == nil {
            self = .again(refusal.retryAfter.map { .after($0) } ?? .byBackOff, nil)
            return
        }
        switch refusal.detail {
        case "PROTOCOL_MISMATCH": self = Self.mended(Self.versions(refusal))
        case "PAIRING_REQUIRED": self = Self.pairing(refusal)
        case "AUTH_RATE_LIMITED":
            let delay = max(refusal.retryAfter ?? .zero, Self.rateLimitInterval)
            self = .again(
                .after(delay),
                Self.trouble(
                    .credential, refusal, "Wait until the gateway takes attempts again, and check the token."))
        case "AUTH_TOKEN_MISMATCH":
            let may = tried.mayShowDeviceToken && tried.hasKeptToken && !tried.usedKeptToken
            self =
                may && refusal.mayRetryWithDeviceToken != false
                ? .showDeviceToken : Self.mended(Self.token(refusal))
        case "DEVICE_AUTH_SIGNATURE_INVALID":
            self = tried.proof == .v3 ? .signTheOldWay : Self.mended(Self.device(refusal))
        case let detail?:
            if let known = Self.mendable[detail] {
                self = Self.mended(Self.trouble(known.kind, refusal, known.remedy))
            } else {
                self = Self.byItself(refusal, Self.remedies[detail] ?? Self.remedy(refusal))
            }
        case nil: self = Self.byItself(refusal, Self.remedy(refusal))
        }
    }

    /// A person must mend the cause.
    private static func mended(_ trouble: OpenClawSession.Trouble) -> ConnectVerdict {
        .again(.after(mendingInterval), trouble)
    }

    /// The cause may pass without a person.
    private static func byItself(_ refusal: ConnectRefusal, _ remedy: String) -> ConnectVerdict {
        .again(
            refusal.retryAfter.map { .after(max($0, .seconds(1))) } ?? .byBackOff,
            OpenClawSession.Trouble(
                kind: .passing, message: "the gateway refused the connection: \(refusal.message)", remedy: remedy))
    }

    private static func trouble(
        _ kind: OpenClawSession.Trouble.Kind, _ refusal: ConnectRefusal, _ remedy: String
    ) -> OpenClawSession.Trouble {
        OpenClawSession.Trouble(
            kind: kind, message: "The gateway refused this bridge: \(refusal.message)", remedy: remedy)
    }

    private static func remedy(_ refusal: ConnectRefusal) -> String {
        "The gateway refused this bridge (\(refusal.message)). Look into the gateway's log with `openclaw logs`."
    }

    private static func versions(_ refusal: ConnectRefusal) -> OpenClawSession.Trouble {
        let theirs = refusal.expectedProtocol.map { "protocol \($0)" } ?? "another protocol version"
        let isOlder = refusal.expectedProtocol.map { $0 < OpenClawSession.oldestProtocol } ?? false
        return OpenClawSession.Trouble(
            kind: .version,
            message: "The gateway speaks \(theirs), this bridge speaks "
                + "\(OpenClawSession.oldestProtocol) to \(OpenClawSession.newestProtocol).",
            remedy: isOlder ? "Update OpenClaw." : "Update sophon-bridge.")
    }

    private static func pairing(_ refusal: ConnectRefusal) -> ConnectVerdict {
        let command =
            refusal.requestID.map { "openclaw devices approve \($0)" }
            ?? "openclaw devices list, then openclaw devices approve <request id>"
        let what =
            switch refusal.reason {
            case "scope-upgrade", "role-upgrade": "more rights for this bridge"
            case "metadata-upgrade": "the changed description of this bridge"
            default: "this bridge"
            }
        return .again(
            .after(pairingInterval),
            OpenClawSession.Trouble(
                kind: .pairing, message: "The gateway waits for its owner to approve \(what).",
                remedy: "Approve \(what) on the gateway's machine: \(command)"))
    }

    private static func token(_ refusal: ConnectRefusal) -> OpenClawSession.Trouble {
        OpenClawSession.Trouble(
            kind: .credential, message: "The gateway refused the token: \(refusal.message)", remedy: tokenRemedy)
    }

    private static func device(_ refusal: ConnectRefusal) -> OpenClawSession.Trouble {
        OpenClawSession.Trouble(
            kind: .device, message: "The gateway refused this device's signature: \(refusal.message)",
            remedy: deviceRemedy)
    }

    private static let tokenRemedy =
        "Set OPENCLAW_TOKEN to the value of gateway.auth.token (`openclaw config get gateway.auth.token`)."
    private static let passwordRemedy = "Set the gateway's password in the bridge's configuration."
    private static let deviceRemedy =
        "Delete the bridge's device key, so that a new one is made, and approve it with `openclaw devices approve`."

    /// Codes whose cause a person must mend; `init` handles the rest of the documented list.
    private static let mendable: [String: (kind: OpenClawSession.Trouble.Kind, remedy: String)] = [
        "AUTH_TOKEN_MISSING": (.credential, tokenRemedy),
        "AUTH_BOOTSTRAP_TOKEN_INVALID": (.credential, tokenRemedy),
        "AUTH_PASSWORD_MISSING": (.credential, passwordRemedy),
        "AUTH_PASSWORD_MISMATCH": (.credential, passwordRemedy),
        "AUTH_DEVICE_TOKEN_MISMATCH": (
            .credential, "Set OPENCLAW_TOKEN, or approve the bridge anew with `openclaw devices approve`."
        ),
        "AUTH_SCOPE_MISMATCH": (.pairing, "Approve the bridge's scopes with `openclaw devices approve`."),
        "CONTROL_UI_DEVICE_IDENTITY_REQUIRED": (
            .device, "Let the bridge have a device key: it needs a state directory."
        ),
        "DEVICE_IDENTITY_REQUIRED": (.device, "Let the bridge have a device key: it needs a state directory."),
        "DEVICE_AUTH_DEVICE_ID_MISMATCH": (.device, deviceRemedy),
        "DEVICE_AUTH_PUBLIC_KEY_INVALID": (.device, deviceRemedy),
        "DEVICE_AUTH_INVALID": (.device, deviceRemedy),
        "PAIRING_REJECTED": (.pairing, "The owner rejected this bridge: approve it with `openclaw devices approve`."),
        "CLIENT_VERSION_MISMATCH": (.version, "Update sophon-bridge and OpenClaw to matching versions."),
    ]

    /// Codes whose cause a person may mend on the gateway while the bridge retries.
    private static let remedies: [String: String] = [
        "AUTH_REQUIRED": tokenRemedy,
        "AUTH_UNAUTHORIZED": tokenRemedy,
        "AUTH_TOKEN_NOT_CONFIGURED": "The gateway has no token: set gateway.auth.token in openclaw.json.",
        "AUTH_PASSWORD_NOT_CONFIGURED": "The gateway has no password: set gateway.auth.password in openclaw.json.",
        "DEVICE_AUTH_SIGNATURE_EXPIRED": "Set the clocks of this machine and of the gateway's.",
        "OPERATOR_ACCESS_DENIED": "Give this bridge operator access on the gateway.",
        "PAIRING_EXPIRED": "The request to pair has expired: approve the new one with `openclaw devices approve`.",
    ]
}
