import AgentKit
import BridgeService
import Links
import Locking
import OpenClaw
import RelayProtocol
import Testing
import Vocabulary
import Worlds

/// Sockets that send the scripted events once they are open.
private final class ScriptedSockets: WebSocketClient {
    final class Link: WebSocketLink {
        let closed = Locked(false)
        let handler: @Sendable (WebSocketEvent) -> Void

        init(_ handler: @escaping @Sendable (WebSocketEvent) -> Void) { self.handler = handler }

        func send(text: [UInt8]) {}
        func send(binary: [UInt8]) {}
        func ping() {}
        func close(code: Int, reason: String) { closed.withLock { $0 = true } }
        func cut() { closed.withLock { $0 = true } }
        func pauseReading() {}
        func resumeReading() {}
    }

    private let events: [WebSocketEvent]
    let links = Locked<[Link]>([])
    let requests = Locked<[WebSocketRequest]>([])

    init(_ events: [WebSocketEvent]) { self.events = events }

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        let link = Link(handler)
        links.withLock { $0.append(link) }
        requests.withLock { $0.append(request) }
        return link
    }

    /// Speaks once the machine knows its link, as a real socket would.
    func speak() { for event in events { links.withLock { $0.last }?.handler(event) } }
}

private func text(_ words: String) -> WebSocketEvent {
    var bytes = Array(words.utf8)
    bytes.reserveCapacity(bytes.count + 64)
    return .text(bytes)
}

@Suite("The probe of a link")
struct LinkProbeTests {
    private let verdicts = Locked<[RelayVerdict?]>([])
    private let deadline = HandAlarm()

    private func probe(_ sockets: ScriptedSockets) throws -> LinkProbe<RelayLink, RelayVerdict> {
        let judge = RelayJudge()
        let edges = LinkEdges(sockets: sockets, clock: HandClock(), alarm: HandAlarm(), random: SystemRandom())
        let settings = RelayLinkSettings(relay: try WebAddress("http://127.0.0.1:1"), token: Secret("secret"))
        let probe = LinkProbe(
            RelayLink(settings), edges: edges, limit: .seconds(10), deadline: deadline,
            judge: { judge.hear($0) }, completion: { [verdicts] verdict in verdicts.withLock { $0.append(verdict) } })
        probe.start()
        return probe
    }

    @Test("a relay that is ready takes the token, which goes in a header and not in the address")
    func ready() throws {
        let sockets = ScriptedSockets([.opened([]), text(#"{"type":"ready","installation_id":"inst_1"}"#)])
        let probe = try probe(sockets)
        sockets.speak()
        #expect(verdicts.withLock { $0 } == [.taken(installation: "inst_1")])
        let request = try #require(sockets.requests.withLock { $0 }.first)
        #expect(!request.url.contains("secret"))
        #expect(request.headers == [HTTPHeader("Authorization", "Bearer secret")])
        #expect(!probe.close())
        #expect(sockets.links.withLock { $0 }.first?.closed.withLock { $0 } == true)
        probe.stop()
    }

    @Test("a page in the relay's place is never a refused token", arguments: [401, 403, 404])
    func page(status: Int) throws {
        let sockets = ScriptedSockets([.refused(status: status, headers: [], body: Array("<html>".utf8))])
        let probe = try probe(sockets)
        sockets.speak()
        let verdict = try #require(verdicts.withLock { $0 }.first)
        let finding = DoctorFinding.relayToken(verdict, connection: "home")
        #expect(finding.exitCode == .relayUnreachable)
        #expect(finding.remedy?.contains("something between here and the relay answers: HTTP \(status)") == true)
        probe.stop()
    }

    @Test("a refused token is told with its remedy")
    func refused() throws {
        let body = Array(#"{"ok":false,"error":{"code":"invalid_token","message":"no"}}"#.utf8)
        let sockets = ScriptedSockets([.refused(status: 401, headers: [], body: body)])
        let probe = try probe(sockets)
        sockets.speak()
        let verdict = try #require(verdicts.withLock { $0 }.first)
        let finding = DoctorFinding.relayToken(verdict, connection: "home")
        #expect(finding.outcome == .failed)
        #expect(finding.exitCode == .tokenRefused)
        #expect(finding.remedy?.contains("sophon-bridge pair") == true)
        probe.stop()
    }

    @Test("a relay that cannot be reached is told at the first try")
    func unreachable() throws {
        let sockets = ScriptedSockets([.failed(WebSocketFailure(.connectionRefused, "refused"))])
        let probe = try probe(sockets)
        sockets.speak()
        let verdict = try #require(verdicts.withLock { $0 }.first)
        #expect(verdict == .unreachable(reason: "refused", remedy: nil))
        #expect(DoctorFinding.relayToken(verdict, connection: "home").exitCode == .relayUnreachable)
        #expect(probe.close())
        probe.stop()
    }

    @Test("silence is a verdict too, once, when the time is over")
    func silent() throws {
        let sockets = ScriptedSockets([.opened([]), text(#"{"type":"ready"}"#)])
        let probe = try probe(sockets)
        deadline.ring()
        sockets.speak()
        deadline.ring()
        #expect(verdicts.withLock { $0 } == [nil])
        #expect(DoctorFinding.relayToken(nil, connection: "home").exitCode == .relayUnreachable)
        probe.stop()
    }
}

@Suite("What doctor says")
struct DoctorTests {
    private let address = WebAddress(.https, "api.sophon.at")

    @Test("the gateway's greeting is heard whole, with the scopes that are missing")
    func gateway() {
        let judge = GatewayJudge()
        #expect(judge.hear(.note(.connected(version: "2026.5.1", protocol: 4, scopes: ["operator.read"]))) == nil)
        #expect(judge.hear(.note(.missingScopes(["operator.write"], remedy: "approve it"))) == nil)
        let verdict = judge.hear(.observed([.linkBack]))
        let findings = DoctorFinding.gateway(verdict, address: WebAddress(.ws, "localhost", 1), connection: "home")
        #expect(findings.map(\.outcome) == [.ok, .failed])
        #expect(findings.last?.remedy == "approve it")
        #expect(findings.last?.exitCode == .agentTokenMissing)
    }

    @Test("a gateway that grants everything leaves nothing to do")
    func granted() {
        let judge = GatewayJudge()
        _ = judge.hear(.note(.connected(version: "1", protocol: 3, scopes: nil)))
        let verdict = judge.hear(.observed([.linkBack]))
        let findings = DoctorFinding.gateway(verdict, address: address, connection: "home")
        #expect(findings.map(\.outcome) == [.ok, .ok])
    }

    @Test("why a gateway cannot be reached comes with its remedy and 12; a refusal keeps its own code")
    func away() {
        let judge = GatewayJudge()
        func verdict(_ kind: OpenClawSession.Trouble.Kind) -> GatewayVerdict? {
            let trouble = OpenClawSession.Trouble(kind: kind, message: "HTTP 404", remedy: "check the port")
            return judge.hear(.note(.waiting(reason: "HTTP 404", retryAt: .zero, trouble)))
        }
        #expect(
            verdict(.pairing) == .refused(message: "HTTP 404", remedy: "check the port", exitCode: .agentTokenMissing))
        let verdict = verdict(.passing)
        let away = DoctorFinding.gateway(verdict, address: address, connection: "home")
        #expect(away.map(\.exitCode) == [.agentUnreachable])
        #expect(away.first?.remedy == "check the port")
        let refused = DoctorFinding.gateway(
            .refused(message: "no token", remedy: "set OPENCLAW_TOKEN", exitCode: .agentTokenMissing), address: address,
            connection: "home")
        #expect(refused.map(\.exitCode) == [.agentTokenMissing])
        #expect(DoctorFinding.gateway(nil, address: address, connection: "home").map(\.exitCode) == [.agentUnreachable])
    }

    @Test(
        "the relay's health decides whether it is reachable",
        arguments: [(200, .clean), (204, .clean), (404, .relayUnreachable), (503, .relayUnreachable)]
            as [(Int, ExitCode)])
    func health(status: Int, code: ExitCode) {
        let finding = DoctorFinding.relay(.success(HTTPResponse(status: status)), address: address, connection: "home")
        var report = DoctorReport()
        report.add(finding)
        #expect(report.exitCode == code)
    }

    @Test("a relay that does not answer is unreachable")
    func failure() {
        let failure = HTTPFailure(.nameNotFound, "no such host", mayHaveBeenApplied: false)
        let finding = DoctorFinding.relay(.failure(failure), address: address, connection: "home")
        #expect(finding.exitCode == .relayUnreachable)
        #expect(finding.line.contains("no such host; what to do:"))
    }

    @Test(
        "the clock is compared with the relay's date",
        arguments: [(0, .ok), (29, .ok), (-29, .ok), (31, .warning), (-31, .warning)]
            as [(Int64, DoctorFinding.Outcome)])
    func clock(seconds: Int64, outcome: DoctorFinding.Outcome) {
        let answer = HTTPResponse(status: 200, headers: [HTTPHeader("Date", "Sun, 06 Nov 1994 08:49:37 GMT")])
        let finding = DoctorFinding.clock(
            .success(answer), wallMilliseconds: (784_111_777 + seconds) * 1_000, connection: "home")
        #expect(finding?.outcome == outcome)
    }

    @Test("a relay without a date says nothing of the clock")
    func dateless() {
        let answer = HTTPResponse(status: 200, headers: [HTTPHeader("Date", "soon")])
        #expect(DoctorFinding.clock(.success(answer), wallMilliseconds: 0, connection: "home") == nil)
    }

    @Test("the first failure decides the exit, and warnings do not")
    func exits() {
        var report = DoctorReport()
        report.add(DoctorFinding(.config, .warning, "a"))
        #expect(report.exitCode == .clean)
        report.add(DoctorFinding(.agent, .failed, "b", exitCode: .agentNotInstalled))
        report.add(DoctorFinding(.relay, .failed, "c", exitCode: .relayUnreachable))
        #expect(report.exitCode == .agentNotInstalled)
        #expect(report.count(.failed) == 2)
    }

    @Test("an agent that is not installed is told once, and not where it should answer as well")
    func consequence() {
        func gateway(_ connection: String, _ code: ExitCode) -> DoctorFinding {
            DoctorFinding(.gateway, .failed, "no", remedy: "start it", connection: connection, exitCode: code)
        }
        var report = DoctorReport()
        report.add(DoctorFinding(.agent, .failed, "b", connection: "home", exitCode: .agentNotInstalled))
        let told = report.add(gateway("home", .agentUnreachable))
        #expect(told == DoctorFinding(.gateway, .skipped, "no", connection: "home"))
        #expect(report.add(gateway("home", .tokenRefused)).outcome == .failed)
        #expect(report.add(gateway("work", .agentUnreachable)).outcome == .failed)
        #expect(report.count(.failed) == 3)
    }

    @Test("a remedy follows one full stop at most", arguments: ["revoked", "revoked.", "revoked.."])
    func stops(message: String) {
        let finding = DoctorFinding(.relayToken, .failed, message, remedy: "pair")
        #expect(finding.line == "FAIL  revoked; what to do: pair")
        #expect(DoctorFinding(.relayToken, .ok, message).line == "ok    \(message)")
    }
}
