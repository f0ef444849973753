import AgentKit
import JSONReading
import Links
import Vocabulary

/// Supplies the bridge's token: from the configuration, else from an earlier
/// pairing, else by pairing with the invite link (oppi.md#pairing).
///
/// States:
/// - `none`: Can transition to `reading` (an invite link or a stored token may exist), `ready` (a token is configured).
/// - `reading`: the private file is being read. Can transition to `ready`, `pairing` (no token
///   is stored, or it came from another link), `none` (neither token nor link).
/// - `pairing`: Can transition to `keeping`, `ready` (the link is used up, and a token is stored), `none`.
/// - `keeping`: the new token is being written. Can transition to
///   `ready`, even if writing fails: the link cannot be used again.
/// - `ready`: Can transition to `none` (refused).
///
/// A link works once: from `pairing` until the token is stored nothing else
/// begins, whatever happens to the link or the configuration.
struct OppiAccess {
    enum State: Equatable {
        case none, reading
        case pairing(former: Secret?)
        case keeping(Secret)
        case ready(Secret)
    }

    enum Step {
        case work(Work)
        /// A token exists; `remedy` is advice for people.
        case ready(Secret, remedy: String?)
        case failed(reason: String, LinkRemedy?, Redial)
    }

    static let again = Redial.after(.seconds(60))
    static let remedy =
        "make a new invite link on Oppi's machine, put it into agent.invite (or OPPI_INVITE), and restart or reload the bridge; "
        + "or set agent.token (OPPI_TOKEN)"

    static let untrusted = LinkRemedy(
        "if Oppi's certificate was renewed, pair again, or set agent.pin (or agent.ca_file) to the new one")

    private var state = State.none
    /// Pin of the link by which this bridge paired, stored with the token.
    private(set) var pin: [UInt8]?
    private var settings: OppiSettings?
    /// Number of the newest beginning; an answer to an earlier one is dropped.
    private(set) var beginnings = 0

    var token: Secret? { if case .ready(let token) = state { token } else { nil } }

    var isPairing: Bool {
        switch state {
        case .pairing, .keeping: true
        case .none, .reading, .ready: false
        }
    }

    /// Whether access began with these settings.
    func isOf(_ settings: OppiSettings) -> Bool { self.settings?.tokenSource == settings.tokenSource }

    /// The first step, or nil while an earlier pairing awaits its outcome.
    mutating func begin(_ settings: OppiSettings) -> Step? {
        guard !isPairing else { return nil }
        self.settings = settings
        beginnings += 1
        if let token = settings.token {
            state = .ready(token)
            return .ready(token, remedy: nil)
        }
        state = .reading
        return .work(.secret(name: settings.secretName))
    }

    mutating func refused() {
        if !isPairing { state = .none }
    }

    mutating func finished(_ result: WorkResult, of beginning: Int, with parser: FrameParser) -> Step? {
        guard beginning == beginnings, let settings else { return nil }
        switch (state, result) {
        case (.reading, .secret(let kept)): return read(kept, settings, with: parser)
        case (.reading, .failed(let failure)):
            // Without storage for the token, pairing would use up the link.
            state = .none
            return .failed(
                reason: failure.message, LinkRemedy(failure.message, exitCode: .agentTokenMissing), Self.again)
        case (.pairing, .failed(let failure)) where failure.code == .untrusted:
            state = .none
            return .failed(reason: failure.message, Self.untrusted, Self.again)
        case (.pairing(let former), _): return paired(OppiRest.answer(result, with: parser), former, settings)
        case (.keeping(let token), .failed(let failure)):
            state = .ready(token)
            return .ready(token, remedy: "The token of this pairing could not be kept: \(failure.message)")
        case (.keeping(let token), _):
            state = .ready(token)
            return .ready(token, remedy: nil)
        default: return nil
        }
    }

    private mutating func read(_ kept: Secret?, _ settings: OppiSettings, with parser: FrameParser) -> Step {
        let (token, origin, pin) = kept.map { Self.parts($0, with: parser) } ?? (nil, nil, nil)
        self.pin = pin
        if let pairingToken = settings.invite?.pairingToken, origin != StableHash.text(of: pairingToken.text) {
            state = .pairing(former: token)
            var body = JSONObjectWriter()
            body.string("pairingToken", pairingToken.text)
            body.string("deviceName", settings.displayName)
            return .work(settings.rest(nil).post("/pair", body.finish()))
        }
        guard let token else {
            state = .none
            return .failed(
                reason: "there is no token for Oppi", LinkRemedy(Self.remedy, exitCode: .agentTokenMissing), Self.again)
        }
        state = .ready(token)
        return .ready(token, remedy: nil)
    }

    private mutating func paired(_ answer: OppiRest.Answer, _ former: Secret?, _ settings: OppiSettings) -> Step {
        state = .none
        switch answer {
        case .body(let body):
            guard let token = body["deviceToken"]?.string, !token.isEmpty else {
                return .failed(reason: "the server gave no token", nil, .byBackOff)
            }
            state = .keeping(Secret(token))
            if case .leaf(let pin) = settings.trust.certificates { self.pin = pin }
            return .work(.keepSecret(name: settings.secretName, secret(token, from: settings.invite)))
        case .refused(let status, let error) where status == 400 || status == 401:
            if let former {
                state = .ready(former)
                return .ready(
                    former, remedy: "The invite link is used or expired; the token of an earlier one is used.")
            }
            return .failed(
                reason: "the invite link is used or expired (\(status) \(error))",
                LinkRemedy(Self.remedy, exitCode: .agentTokenMissing), Self.again)
        case .refused(429, _): return .failed(reason: "too many tries to pair", nil, .after(.seconds(120)))
        case .refused(let status, let error):
            let remedy = OppiMachine.remedy(ofRefusal: status)
            return .failed(reason: "pairing: \(status) \(error)", remedy, remedy == nil ? .byBackOff : Self.again)
        case .failed(let reason): return .failed(reason: reason, nil, .byBackOff)
        }
    }

    // MARK: The private file

    private func secret(_ token: String, from invite: OppiInvite?) -> Secret {
        var file = JSONObjectWriter()
        file.string("deviceToken", token)
        file.string("pairing", invite?.pairingToken.map { StableHash.text(of: $0.text) })
        file.string("pin", pin.map { OppiPin.text($0) })
        return Secret(String(decoding: file.finish(), as: UTF8.self))
    }

    static func parts(_ kept: Secret, with parser: FrameParser) -> (token: Secret?, origin: String?, pin: [UInt8]?) {
        var bytes = Array(kept.text.utf8)
        bytes.reserveCapacity(bytes.count + 64)
        return bytes.withUnsafeBytes { buffer in
            let root = parser.parse(buffer, capacity: bytes.capacity)
            return (
                root?["deviceToken"]?.string.map { Secret($0) }, root?["pairing"]?.string,
                root?["pin"]?.string.flatMap { OppiPin.bytes($0) }
            )
        }
    }
}
