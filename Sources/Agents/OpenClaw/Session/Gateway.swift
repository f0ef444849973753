import JSONReading
import Vocabulary

/// The content of the gateway's greeting (openclaw.md#hello-ok).
struct Gateway {
    var version: String
    var protocolVersion: Int
    var methods: Set<String>
    /// Scopes of this socket, or nil if the gateway does not list them (E1, E2).
    var scopes: [String]?
    var tickInterval: Duration
    /// The largest frame that the gateway accepts.
    var maxPayload: Int
    /// The largest file that the gateway accepts, before base64 (openclaw.md#chatsend).
    var fileLimit: Int
    var pictureLimit: Int
    /// The earliest and the latest start of the gateway's process on our clock, or nil if it does not
    /// report its age. The age is of some moment between the introduction and the greeting.
    var startedAfter: Instant?
    var startedBefore: Instant?
    let greetedAt: Instant
    /// The agent that owns bare session keys.
    var defaultAgent: String?
    var deviceToken: (token: String, role: String, scopes: [String])?

    private static let unsaidFileLimit = 5_000_000

    /// Nil if the payload is no greeting.
    init?(_ payload: FrameNode?, askedAt: Instant, at now: Instant) {
        guard let payload, payload["type"]?.holds("hello-ok") == true,
            let protocolVersion = payload["protocol"]?.integer(in: 0...1_000_000)
        else { return nil }
        self.protocolVersion = protocolVersion
        greetedAt = now
        version = payload["server"]?["version"]?.string ?? "unknown"
        methods = Set(payload["features"]?["methods"]?.elements.compactMap(\.string) ?? [])
        let policy = payload["policy"]
        tickInterval = .milliseconds(policy?["tickIntervalMs"]?.integer(clampedTo: 1_000...600_000) ?? 30_000)
        // A larger frame would exceed the buffer for unsent bytes.
        maxPayload = policy?["maxPayload"]?.integer(clampedTo: 65_536...(32 << 20)) ?? 524_288
        let files = policy?["attachments"]
        fileLimit = files?["maxBytes"]?.integer(clampedTo: 0...(1 << 40)) ?? Self.unsaidFileLimit
        pictureLimit = min(fileLimit, files?["maxImageBytes"]?.integer(clampedTo: 0...(1 << 40)) ?? fileLimit)
        let age = (payload["snapshot"]?["uptimeMs"]?.integer(clampedTo: .wallMilliseconds)).map {
            Duration.milliseconds($0)
        }
        startedAfter = age.map { askedAt - $0 }
        startedBefore = age.map { now - $0 }
        defaultAgent = payload["snapshot"]?["sessionDefaults"]?["defaultAgentId"]?.string?.lowercased()
        let auth = payload["auth"]
        scopes = (auth?["scopes"]).map { $0.elements.compactMap(\.string) }
        if let token = auth?["deviceToken"]?.string {
            deviceToken = (token, auth?["role"]?.string ?? "operator", scopes ?? [])
        }
    }

    /// Whether the gateway lists the method. The list is conservative: a method outside it may exist (openclaw.md#hello-ok).
    func offers(_ method: String) -> Bool { methods.contains(method) }

    /// Protocol 4: runs resume after a restart, an error frame is final, and a stop has two lifecycle frames.
    var isNew: Bool { protocolVersion > 3 }

    /// Whether the scope is granted, or nil if unknown.
    func grants(_ scope: String) -> Bool? {
        guard let scopes else { return nil }
        if scopes.contains(scope) || scopes.contains("operator.admin") { return true }
        return scope == "operator.read" && scopes.contains("operator.write")
    }

    /// The gateway stopped at that moment and has restarted since, maybe within the same process.
    mutating func began(after moment: Instant) {
        startedAfter = max(startedAfter ?? moment, moment)
        if startedBefore.map({ $0 < moment }) ?? true { startedBefore = max(greetedAt, moment) }
    }

    /// The process differs from the one that greeted last: its memory of our messages is gone.
    func hasRestarted(since earlier: Gateway?) -> Bool {
        guard let earlier else { return false }
        guard let startedAfter, let before = earlier.startedBefore else { return true }
        return startedAfter - before > .seconds(5)
    }
}
