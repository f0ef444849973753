import AgentKit
import JSONReading
import Vocabulary

/// `doctor`'s look at Codex. The socket of the bridge's server is opened and closed, to see who owns it. The program is run for its
/// version, and a server that ends with the look reports account and configuration. A configured server is examined in place.
struct CodexCheck {
    private enum Step { case socket, version, lock, opening, initialize, account, over }

    private static let limit = Duration.seconds(40)
    /// Longest wait for a bridge that starts its server.
    private static let lockLimit = Duration.seconds(10)
    private static let lockPause = Duration.milliseconds(250)
    static let channel = ChannelID(1)
    /// The socket of the bridge's server.
    static let probe = ChannelID(2)
    static let work = WorkID(1)

    private let settings: CodexSettings
    private let connection: String
    private var step = Step.version
    private var deadline: Instant?
    private var lock: Lock?

    /// The lock file for starts of servers.
    private struct Lock {
        let path: String
        var until: Instant
        /// When to request the lock again.
        var askedAt: Instant?
        var isHeld = false
    }

    private var version = ""
    private var trouble: CodexTrouble?

    init(_ settings: CodexSettings, connection: String) {
        self.settings = settings
        self.connection = connection
    }

    var nextDeadline: Instant? {
        step == .over ? nil : [deadline, step == .lock ? lock?.askedAt : nil].compactMap(\.self).min()
    }

    mutating func begin(at now: Instant) -> [AgentOrder] {
        deadline = now + Self.limit
        guard let own = settings.own else { return open(.socket(settings.socketPlan)) }
        guard own.socket != nil else { return askVersion(of: own) }
        step = .socket
        return [.open(Self.probe, .socket(settings.socketPlan))]
    }

    private mutating func askVersion(of own: CodexSettings.Own) -> [AgentOrder] {
        step = .version
        return [.work(Self.work, .run(own.versionPlan, input: [], outputLimit: 4_096, deadline: .seconds(20)))]
    }

    /// A closed socket is no finding: the bridge starts the server.
    private mutating func probed(_ event: ChannelEvent) -> [AgentOrder] {
        guard step == .socket, let own = settings.own else { return [] }
        switch event {
        case .failed(let message, .foreignListener):
            step = .version
            return [foreign(message)] + end()
        case .opened:
            let closing = close()
            return closing + askVersion(of: own)
        case .failed, .refused, .closed: return askVersion(of: own)
        default: return []
        }
    }

    private func foreign(_ message: String) -> AgentOrder {
        let remedy: String? =
            if settings.own != nil {
                CodexTrouble.foreignSocket(message).remedy
            } else if settings.socketPlan.unixPath != nil {
                "let Codex's server run as this user, or name its socket by agent.url"
            } else {
                nil
            }
        return .finding(
            DoctorFinding(
                .agentListener, .failed, message, remedy: remedy, connection: connection, exitCode: .agentUnreachable))
    }

    private mutating func open(_ channel: Channel) -> [AgentOrder] {
        step = .opening
        return [.open(Self.channel, channel)]
    }

    mutating func finished(_ result: WorkResult, at now: Instant) -> [AgentOrder] {
        if step == .lock { return lockIs(result, at: now) }
        guard step == .version, let own = settings.own else { return [] }
        switch result {
        case .ran(.exited(0), let output, _):
            guard let version = CodexTrouble.version(in: String(decoding: output, as: UTF8.self)) else {
                return conclude(.notInstalled("\(settings.name) --version names no version"))
            }
            guard !CodexTrouble.isTooOld(version) else { return conclude(.tooOld(version)) }
            self.version = version
            guard let path = own.lock else { return open(.child(own.checkPlan)) }
            step = .lock
            lock = Lock(path: path, until: now + Self.lockLimit)
            return [.work(Self.work, .lock(path: path))]
        case .ran(let end, _, let errors):
            return conclude(.notInstalled("of `\(settings.name) --version`: \(end.words(errors))"))
        case .failed(let failure): return conclude(.notInstalled(failure.message))
        default: return []
        }
    }

    private mutating func lockIs(_ result: WorkResult, at now: Instant) -> [AgentOrder] {
        guard let own = settings.own, let lock else { return [] }
        if case .failed(let failure) = result, failure.code == .full {
            guard lock.until > now else {
                return conclude(.cannotStart("a server has been starting with the same CODEX_HOME for ten seconds"))
            }
            self.lock?.askedAt = now + Self.lockPause
            return []
        }
        if case .done = result { self.lock?.isHeld = true }
        return open(.child(own.checkPlan))
    }

    private mutating func unlock() -> [AgentOrder] {
        guard let lock, lock.isHeld else { return [] }
        self.lock = nil
        return [.work(Self.work, .unlock(path: lock.path))]
    }

    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, at now: Instant) -> [AgentOrder] {
        if channel == Self.probe { return probed(event) }
        switch event {
        case .opened, .spawned:
            guard step == .opening else { return [] }
            step = .initialize
            return [send(1, "initialize", CodexFrames.initialize(version: settings.version))]
        case .failed(let message, .foreignListener):
            return step == .over ? [] : [foreign(message)] + end()
        case .failed(let message, _): return lost(message)
        case .refused(let status, _): return lost("the server refused the connection with \(status)")
        case .closed(let code, _): return lost("the server closed the connection (\(code))")
        case .exited(let end, let lastWords): return lost(end.words(lastWords))
        case .heard, .skipped, .waits, .wanted: return []
        }
    }

    private func send(_ id: Int, _ method: String, _ params: [UInt8]) -> AgentOrder {
        .send(Self.channel, CodexFrames.request(id, method, params))
    }

    mutating func received(_ message: CodexMessage) -> [AgentOrder] {
        switch message {
        case .notification("configWarning", let params):
            trouble =
                CodexTrouble.configuration(summary: params["summary"]?.string, details: params["details"]?.string)
                ?? trouble
        case .result(let id, let result) where step == .initialize && id.text == "1":
            if version.isEmpty { version = result["userAgent"]?.string.flatMap { CodexTrouble.version(in: $0) } ?? "?" }
            if version != "?", CodexTrouble.isTooOld(version) { return conclude(.tooOld(version)) }
            step = .account
            return unlock() + [
                .send(Self.channel, CodexFrames.initialized), send(2, "account/read", CodexFrames.none),
            ]
        case .result(let id, let result) where step == .account && id.text == "2": return conclude(result)
        case .failure(_, _, let message) where step != .over: return lost(message)
        case .notification, .request, .result, .failure: break
        }
        return []
    }

    mutating func timePassed(at now: Instant) -> [AgentOrder] {
        if step == .lock, let lock, let askedAt = lock.askedAt, askedAt <= now {
            self.lock?.askedAt = nil
            return [.work(Self.work, .lock(path: lock.path))]
        }
        guard step != .over, let deadline, deadline <= now else { return [] }
        return lost("it did not answer within 40 seconds")
    }

    mutating func shutDown() -> [AgentOrder] { unlock() + close() }

    // MARK: Findings

    private mutating func lost(_ why: String) -> [AgentOrder] {
        guard step != .over else { return [] }
        if settings.own != nil { return conclude(.cannotStart(why)) }
        let finding = DoctorFinding(
            .agent, .failed, "Codex's server at \(settings.name) cannot be used: \(why)",
            remedy: "check that it runs there, and agent.url (CODEX_URL)", connection: connection,
            exitCode: .agentUnreachable)
        return [.finding(finding)] + end()
    }

    private mutating func conclude(_ trouble: CodexTrouble) -> [AgentOrder] {
        guard step != .over else { return [] }
        return [failed(.agent, trouble)] + end()
    }

    private mutating func conclude(_ account: FrameNode) -> [AgentOrder] {
        let found = settings.own == nil ? "Codex \(version) answers at" : "Codex \(version) is found:"
        var findings = [ok(.agent, "\(found) \(settings.name)")]
        if let trouble {
            findings.append(failed(.agent, trouble))
        } else {
            findings.append(ok(.agent, "Codex reads its configuration"))
        }
        if CodexTrouble.isLoggedOut(account) {
            findings.append(failed(.agentToken, .loggedOut))
        } else {
            let who = account["account"]?["email"]?.string ?? account["account"]?["type"]?.string
            findings.append(ok(.agentToken, "Codex is logged in\(who.map { " (\($0))" } ?? "")"))
        }
        let place = settings.folder.map { "folder \($0)" } ?? "each chat in its workspace"
        let words = "sandbox \(settings.sandbox), approvals \(settings.approvalPolicy), \(place)"
        if settings.sandbox == "danger-full-access" {
            findings.append(
                .finding(
                    DoctorFinding(
                        .scopes, .warning, "Codex may do everything: \(words)",
                        remedy: "take agent.sandbox \"workspace-write\" unless the computer is there for nothing else",
                        connection: connection)))
        } else {
            findings.append(ok(.scopes, "Codex is held by \(words)"))
        }
        return findings + end()
    }

    private func ok(_ check: DoctorFinding.Check, _ words: String) -> AgentOrder {
        .finding(DoctorFinding(check, .ok, words, connection: connection))
    }

    private func failed(_ check: DoctorFinding.Check, _ trouble: CodexTrouble) -> AgentOrder {
        .finding(
            DoctorFinding(
                check, .failed, trouble.reason, remedy: trouble.remedy, connection: connection,
                exitCode: trouble.exitCode))
    }

    private mutating func end() -> [AgentOrder] {
        let closing = unlock() + close()
        step = .over
        return closing + [.done]
    }

    private func close() -> [AgentOrder] {
        switch step {
        case .version, .lock, .over: []
        case .socket: [.close(Self.probe, .socket(code: 1000, reason: "that is all"))]
        case .opening, .initialize, .account:
            [
                .close(
                    Self.channel,
                    settings.own == nil ? .socket(code: 1000, reason: "that is all") : .child(atOnce: false))
            ]
        }
    }
}
