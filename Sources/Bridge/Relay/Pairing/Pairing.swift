package import Vocabulary

/// Obtains a token for this bridge from the relay, by a person who confirms in a browser or on the phone
/// (relay.md#pairing-the-shipping-form, relay.md#claiming). Events arrive with the time, and orders leave.
///
/// - No I/O, no clock: the runner sends one request at a time and has one timer (`nextDeadline`).
/// - The relay's answers distinguish the two documented forms, never a question to the user (relay.md#where-the-sources-disagree, D1).
/// - It always ends, once: with `claimed` or `failed`.
package struct Pairing: ~Copyable {
    enum State {
        /// Can transition to: starting, polling (`start`).
        case idle
        /// The relay owes a code, or will be asked for one at `askAt`. Can transition to: polling, ended.
        case starting(askAt: Instant?)
        /// The relay owes word of the user's confirmation, or will be asked at `askAt`. Can transition to: ended.
        case polling(askAt: Instant?)
        case ended
    }

    private static let startLimit = 3
    private static let lifetime = Duration.seconds(120)
    /// Longer than any code of the relay lives. Without it a wrong clock could make the bridge wait for hours.
    private static let longestLifetime = Duration.seconds(900)
    /// Waits for the relay's own word that the code has expired.
    private static let grace = Duration.seconds(5)
    /// The relay answers a poll after 25 s at most.
    private static let pollTimeout = Duration.seconds(40)
    /// Pause between the beginnings of two polls, if the relay does not hold them.
    private static let pollInterval = Duration.seconds(2)
    private static let longestPause = Duration.seconds(30)
    /// Pauses between failed polls.
    private static let backOff = BackOff(first: .milliseconds(500), longest: .seconds(5))

    private let settings: Settings
    private var state = State.idle
    private var orders: [Order] = []
    private var code = ""
    private var pollToken: String?
    private var began = Instant.zero
    private var asked = Instant.zero
    private var expires = Instant.zero
    private var nextTick = Instant.zero
    private var failures = 0
    /// Failure of the last poll.
    private var pollTrouble: Trouble?

    package init(_ settings: Settings) { self.settings = settings }

    package mutating func takeOrders() -> [Order] {
        defer { orders = [] }
        return orders
    }

    /// Next deadline for `timePassed`.
    package var nextDeadline: Instant? {
        switch state {
        case .idle, .ended: nil
        case .starting(let askAt): askAt
        case .polling(let askAt): min(askAt ?? expires + Self.grace, nextTick, expires + Self.grace)
        }
    }

    // MARK: What happened

    package mutating func start(at now: Instant, wallMilliseconds: Int64) {
        guard case .idle = state else { return }
        guard let code = settings.code else { return askForCode(at: now) }
        guard Self.isCode(code) else {
            return fail(.refused, "\"\(code.prefix(40))\" is no pairing code; it has letters and digits only")
        }
        invite(code, nil, nil, at: now, wallMilliseconds: wallMilliseconds)
    }

    /// Answer to the request that was ordered last.
    package mutating func answered(
        _ result: Result<HTTPResponse, HTTPFailure>, at now: Instant, wallMilliseconds: Int64
    ) {
        switch state {
        case .starting(askAt: nil): startAnswered(result, at: now, wallMilliseconds: wallMilliseconds)
        case .polling(askAt: nil): pollAnswered(result, at: now)
        case .idle, .starting, .polling, .ended: return
        }
    }

    /// A deadline may be due.
    package mutating func timePassed(at now: Instant) {
        switch state {
        case .starting(let askAt?) where askAt <= now: askForCode(at: now)
        case .polling(let askAt):
            if now >= expires + Self.grace {
                // A person may have confirmed while the relay was out of reach.
                if let pollTrouble { return fail(.unreachable, unreachable(pollTrouble)) }
                return fail(.timedOut, "nobody confirmed the pairing in time; run `sophon-bridge pair` once more")
            }
            if let askAt, askAt <= now { poll(at: now) }
            if now >= nextTick { tick(at: now) }
        case .idle, .starting, .ended: return
        }
    }

    // MARK: Start

    private mutating func askForCode(at now: Instant) {
        state = .starting(askAt: nil)
        var body = JSONObjectWriter()
        // Each of the two documented forms has its own name for the connector (relay.md#pairing-the-documented-form).
        body.string("connector_type_id", settings.connector)
        body.string("connector_type", settings.connector)
        body.string("host_label", settings.hostLabel)
        post("/v1/pairing/start", body.finish(), timeout: .seconds(15))
    }

    private mutating func startAnswered(
        _ result: Result<HTTPResponse, HTTPFailure>, at now: Instant, wallMilliseconds: Int64
    ) {
        if case .success(let response) = result, let answer = PairingAnswer(response) {
            guard let code = answer.code, Self.isCode(code) else {
                return fail(.refused, "the relay sent no pairing code; update sophon-bridge")
            }
            pollToken = answer.pollToken
            return invite(
                code, answer.browserURL, answer.expiresAtWallMilliseconds, at: now, wallMilliseconds: wallMilliseconds)
        }
        failures += 1
        let trouble = Trouble(result)
        if trouble.isFinal { return fail(.refused, "the relay will not pair: \(trouble.words)") }
        // A person waits at the terminal: leave a long wait of the relay to their decision.
        let isPatient = (trouble.retryAfter ?? .zero) <= Self.longestPause
        guard failures < Self.startLimit, isPatient else { return fail(.unreachable, unreachable(trouble)) }
        state = .starting(askAt: now + pause(trouble))
    }

    private mutating func invite(
        _ code: String, _ browserURL: String?, _ expiresAt: Int64?, at now: Instant, wallMilliseconds: Int64
    ) {
        let told = expiresAt.map { Duration.milliseconds($0 - wallMilliseconds) }
        let lifetime = told.flatMap { $0 > .zero && $0 <= Self.longestLifetime ? $0 : nil } ?? Self.lifetime
        self.code = code
        (began, expires, nextTick, failures) = (now, now + lifetime, now + settings.tickInterval, 0)
        orders.append(
            .invite(
                Invitation(
                    code: code, browserURL: browserURL.flatMap { mayOpen($0) ? $0 : nil },
                    expiresAtWallMilliseconds: wallMilliseconds + lifetime.nanoseconds / 1_000_000,
                    lifetime: lifetime)))
        poll(at: now)
    }

    /// The URL becomes a program's argument and appears on a terminal: a web address without characters that either interprets.
    private func mayOpen(_ url: String) -> Bool {
        let schemes = settings.relay.scheme.isEncrypted ? ["https://"] : ["https://", "http://"]
        return schemes.contains { url.hasPrefix($0) } && url.utf8.count <= 2_048
            && url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "'") }
    }

    /// The code becomes a part of an address and appears on a terminal.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    // MARK: Poll

    private mutating func poll(at now: Instant) {
        state = .polling(askAt: nil)
        asked = now
        if let pollToken {
            var body = JSONObjectWriter()
            body.string("poll_token", pollToken)
            return post("/v1/pairing/poll", body.finish(), timeout: Self.pollTimeout)
        }
        orders.append(
            .request(
                HTTPRequest(
                    method: "GET", url: "\(settings.relay)/v1/pairing/poll?code=\(code)&timeout=25",
                    timeout: Self.pollTimeout)))
    }

    private mutating func pollAnswered(_ result: Result<HTTPResponse, HTTPFailure>, at now: Instant) {
        guard case .success(let response) = result, let answer = PairingAnswer(response) else {
            return pollFailed(Trouble(result), at: now)
        }
        (failures, pollTrouble) = (0, nil)
        switch answer.status {
        case .claimed:
            guard let token = answer.token, !token.isEmpty else {
                return fail(.refused, "the relay paired this bridge without a token; update sophon-bridge")
            }
            if let installation = answer.installation, !RelayName.isTaken(installation) {
                return fail(.refused, "the relay gave this bridge an id of a form that is not taken")
            }
            state = .ended
            orders.append(.claimed(Claim(token: Secret(token), installation: answer.installation)))
        case .expired: expired()
        // An unknown status of a later relay is no reason to give up.
        case .pending, .none: state = .polling(askAt: max(now, asked + Self.pollInterval))
        }
    }

    private mutating func pollFailed(_ trouble: Trouble, at now: Instant) {
        if trouble.isGone { return expired() }
        if trouble.isFinal { return fail(.refused, "the relay will not pair: \(trouble.words)") }
        failures += 1
        pollTrouble = trouble
        state = .polling(askAt: now + pause(trouble))
    }

    private mutating func expired() {
        fail(.codeExpired, "the pairing code has expired; run `sophon-bridge pair` once more")
    }

    // MARK: Within

    private mutating func tick(at now: Instant) {
        orders.append(.waiting(elapsed: now - began, remaining: max(.zero, expires - now)))
        while nextTick <= now { nextTick = nextTick + settings.tickInterval }
    }

    private mutating func fail(_ kind: Failure.Kind, _ message: String) {
        state = .ended
        orders.append(.failed(Failure(kind: kind, message: message)))
    }

    /// A poll whose requested delay exceeds the life of its code ends with the code.
    private func pause(_ trouble: Trouble) -> Duration {
        max(Self.backOff.pause(after: failures), trouble.retryAfter ?? .zero)
    }

    private func unreachable(_ trouble: Trouble) -> String {
        let remedy = trouble.isForeign ? ForeignAnswer.remedy : "check the network and SOPHON_BASE_URL"
        return "the relay \(settings.relay) cannot be reached: \(trouble.words); \(remedy)"
    }

    private mutating func post(_ path: String, _ body: [UInt8], timeout: Duration) {
        orders.append(
            .request(
                HTTPRequest(
                    method: "POST", url: settings.relay.description + path,
                    headers: [HTTPHeader("Content-Type", "application/json")], body: body, timeout: timeout)))
    }
}

/// A failed call of the pairing.
private struct Trouble {
    var words: String
    /// A retry would fail alike.
    var isFinal = false
    /// The relay does not know the code, or no longer.
    var isGone = false
    /// The answer came from something other than the relay.
    var isForeign = false
    var retryAfter: Duration?

    init(_ result: Result<HTTPResponse, HTTPFailure>) {
        switch result {
        case .failure(let failure):
            words = failure.message
            isFinal = failure.code == .badURL
        case .success(let response):
            // Without the relay's envelope something else answered, which may recover by itself.
            guard let envelope = ReplyEnvelope(response.body) else {
                let foreign = ForeignAnswer(
                    status: response.status, body: response.body, server: response.header("Server"))
                words = foreign.description
                isForeign = true
                return
            }
            let said = envelope.words.map { ", \($0.prefix(400))" } ?? ""
            words = "it answered with HTTP \(response.status)\(said)"
            let isRefusal = envelope.code != nil && (400..<500).contains(response.status)
            isGone = isRefusal && [404, 410].contains(response.status)
            isFinal = isRefusal && ![408, 425, 429].contains(response.status)
            retryAfter = envelope.retryAfter
        }
    }
}
