import AgentKit
import Testing
import Vocabulary
import Worlds

@testable import OpenClaw

/// The machine, with its orders in words.
private final class MachineStage {
    private var machine: OpenClawMachine
    private(set) var orders: [AgentOrder] = []
    private var second: Int64 = 0
    let settings: OpenClawSettings

    init(check: GatewayCheck? = nil, token: String? = "secret") {
        let settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: token, device: OpenClawDevice(id: "d1", signer: MirrorSigner()),
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        self.settings = settings
        if let check {
            machine = OpenClawMachine(settings, authorityFile: "/ca.pem", check)
        } else {
            machine = OpenClawMachine(settings, authorityFile: "/ca.pem")
        }
    }

    var now: Occasion {
        Occasion(
            now: Instant.zero + .seconds(second), wallMilliseconds: 1_770_000_000_000 + second * 1_000, random: 7)
    }

    private static let channel = ChannelID(1)

    func tell(_ event: (inout OpenClawMachine, Occasion) -> [AgentOrder]) { orders = event(&machine, now) }
    func begin() { tell { $0.begin(AgentPast(), $1) } }
    func happened(_ event: ChannelEvent) { tell { $0.happened(event, on: Self.channel, $1) } }

    func receive(_ frame: String) {
        orders = []
        let bytes = Array(frame.utf8)
        bytes.withUnsafeBytes {
            machine.received($0, capacity: $0.count, on: Self.channel, now, into: &orders)
        }
    }

    /// Advances time to the machine's deadline.
    func pass() {
        second = (machine.nextDeadline.map { ($0 - Instant.zero).nanoseconds / 1_000_000_000 + 1 }) ?? second
        tell { $0.timePassed($1) }
    }

    func greet(token: Bool = true) {
        happened(.opened)
        receive(#"{"type":"event","event":"connect.challenge","payload":{"nonce":"n","ts":1770000000000}}"#)
        receive(
            #"{"type":"res","id":"\#(request)","ok":true,"payload":{"type":"hello-ok","protocol":4,"server":{"version":"2026.5.1","connId":"c"},"features":{"methods":[],"events":[]},"auth":{"role":"operator","scopes":["operator.read","operator.write","operator.approvals"]\#(token ? #","deviceToken":"dt-1""# : "")},"policy":{"maxPayload":524288,"maxBufferedBytes":1572864,"tickIntervalMs":30000}}}"#
        )
    }

    func refuse(_ detail: String) {
        happened(.opened)
        receive(#"{"type":"event","event":"connect.challenge","payload":{"nonce":"n","ts":1770000000000}}"#)
        receive(
            #"{"type":"res","id":"\#(request)","ok":false,"error":{"code":"INVALID_REQUEST","message":"no","details":{"code":"\#(detail)"}}}"#
        )
    }

    /// Id of the newest request.
    private var request: String {
        for case .send(_, let frame, _) in orders.reversed() {
            let text = String(decoding: frame, as: UTF8.self)
            return text.split(separator: #""id":""#).dropFirst().first?.split(separator: "\"").first.map(
                String.init) ?? ""
        }
        return ""
    }

    var words: [String] { orders.map(Self.words) }

    private static func words(_ order: AgentOrder) -> String {
        switch order {
        case .open(let id, .socket(let plan)):
            "open \(id.number) \(plan.url) \(plan.trust.certificates) \(plan.trust.listener)"
        case .open: "open"
        case .send: "send"
        case .close(_, let closing): "close \(closing)"
        case .mayPause(_, let mayPause): "mayPause \(mayPause)"
        case .idle(_, let isIdle): "idle \(isIdle)"
        case .asks: "asks"
        case .work(_, .secret(let name)): "secret \(name)"
        case .work(_, .keepSecret(let name, let secret)):
            "keepSecret \(name) \(["dt-1", "dt-2"].filter { secret?.text.contains($0) == true })"
        case .work: "work"
        case .readSettings: "readSettings"
        case .cover(let secret): "cover \(secret.text)"
        case .observed(let said): "observed \(said)"
        case .replied: "replied"
        case .state(.up(let version, _)): "up \(version)"
        case .state(.waiting): "waiting"
        case .note(.remedy(let remedy)): "remedy \(remedy)"
        case .note: "note"
        case .finding(let finding): "\(finding.outcome) \(finding.check.rawValue)"
        case .done: "done"
        }
    }
}

@Suite("OpenClaw's session as a machine of the host")
struct OpenClawMachineTests {
    private static let check = GatewayCheck(
        of: WebAddress(.ws, "127.0.0.1", 18_789), connection: "default",
        known: [DoctorFinding(.agent, .ok, "it is set up", connection: "default")])

    @Test("it opens one channel with its authority, and may be paused once it is live, until it is lost")
    func channel() {
        let stage = MachineStage()
        stage.begin()
        #expect(stage.words == [#"open 1 ws://127.0.0.1:18789 authority(file: "/ca.pem") own"#])
        stage.greet(token: false)
        #expect(stage.words.contains("up 2026.5.1") && stage.words.last == "mayPause true")
        stage.happened(.closed(code: 1006, reason: ""))
        #expect(stage.words.suffix(2) == ["waiting", "mayPause false"])
    }

    @Test("a device token that came while another could not be written is written by itself")
    func tokenBesideFailure() {
        var errand = TokenErrand()
        func token(_ text: String) -> OpenClawSession.DeviceToken {
            .init(gateway: "ws://\(text)", deviceID: "d1", role: "operator", scopes: [], token: text)
        }
        _ = errand.keep(token("dt-1"))
        _ = errand.finished(.secret(nil), wallMilliseconds: 0)
        let during = errand.keep(token("dt-2"))
        #expect(during.isEmpty)
        let failed = errand.finished(.failed(WorkFailure(.full, "no room")), wallMilliseconds: 0)
        #expect(failed.count == 2, "a remedy, and a look at the file")
        guard case .work(_, .keepSecret(_, let secret))? = errand.finished(.secret(nil), wallMilliseconds: 0).first
        else {
            Issue.record("nothing is written")
            return
        }
        #expect(secret?.text.contains("dt-2") == true && secret?.text.contains("dt-1") == false)
    }

    @Test("a device token is covered, then kept beside those that other gateways gave")
    func token() throws {
        let stage = MachineStage()
        stage.begin()
        stage.greet()
        let name = OpenClawDeviceFiles.tokensName
        let index = try #require(stage.words.firstIndex(of: "cover dt-1"))
        #expect(stage.words[index + 1] == "secret \(name)")
        var kept = try OpenClawDeviceFiles.Tokens(nil)
        kept.add(
            .init(gateway: "ws://other", deviceID: "d1", role: "operator", scopes: [], token: "dt-2"),
            wallMilliseconds: 0)
        stage.tell { $0.finished(WorkID(1), .secret(kept.secret), $1) }
        #expect(stage.words == [#"keepSecret \#(name) ["dt-1", "dt-2"]"#])
        stage.tell { $0.finished(WorkID(1), .done, $1) }
        #expect(stage.words == [])
    }

    @Test("a token that comes while the file is written is kept after that")
    func secondToken() {
        let stage = MachineStage()
        stage.begin()
        stage.greet()
        stage.tell { $0.finished(WorkID(1), .secret(nil), $1) }
        stage.happened(.closed(code: 1006, reason: ""))
        stage.pass()
        stage.greet()
        #expect(!stage.words.contains { $0.hasPrefix("secret") })
        stage.tell { $0.finished(WorkID(1), .done, $1) }
        #expect(stage.words == ["secret \(OpenClawDeviceFiles.tokensName)"])
    }

    @Test("a file of tokens that cannot be read or written is a remedy, and is not replaced")
    func tokenTrouble() {
        let stage = MachineStage()
        stage.begin()
        stage.greet()
        stage.tell { $0.finished(WorkID(1), .secret(Secret("[]")), $1) }
        #expect(stage.words.count == 1 && stage.words[0].hasPrefix("remedy openclaw-device-tokens.json"))
        stage.happened(.closed(code: 1006, reason: ""))
        stage.pass()
        stage.greet()
        stage.tell { $0.finished(WorkID(1), .failed(WorkFailure(.other, "no room")), $1) }
        #expect(stage.words == ["remedy no room"])
    }

    @Test("after a refusal that a file may mend the settings are read anew, and other ones tried at once")
    func mended() {
        let stage = MachineStage()
        stage.begin()
        stage.refuse("AUTH_TOKEN_MISMATCH")
        #expect(stage.words.suffix(2) == ["waiting", "readSettings"])
        stage.tell { $0.use(stage.settings, $1) }
        #expect(stage.words == ["cover secret"])
        var mended = stage.settings
        mended.token = "other"
        stage.tell { $0.use(mended, $1) }
        #expect(stage.words.first == "cover other" && stage.words.last?.hasPrefix("open 1") == true)
    }

    @Test("what is no refusal is no reason to read files")
    func away() {
        let stage = MachineStage()
        stage.begin()
        stage.happened(.failed(message: "refused"))
        #expect(stage.words == ["waiting"])
    }

    @Test("a check reports what is known first, then one verdict, and keeps nothing")
    func checks() {
        let stage = MachineStage(check: Self.check)
        stage.tell { $0.check($1) }
        #expect(stage.words == ["ok agent", #"open 1 ws://127.0.0.1:18789 authority(file: "/ca.pem") own"#])
        stage.greet()
        let found = stage.words.filter { $0 != "send" && !$0.hasPrefix("mayPause") }
        #expect(found == ["ok gateway", "ok scopes", #"close socket(code: 1000, reason: "bridge stops")"#, "done"])
        stage.happened(.closed(code: 1000, reason: ""))
        stage.pass()
        #expect(stage.words == [])
    }

    @Test("a check of a gateway that refuses, is away, or is silent has its verdict too")
    func checksTrouble() {
        let refused = MachineStage(check: Self.check)
        refused.tell { $0.check($1) }
        refused.refuse("AUTH_TOKEN_MISMATCH")
        #expect(refused.words.contains("failed gateway") && refused.words.last == "done")
        #expect(!refused.words.contains("readSettings"))
        let away = MachineStage(check: Self.check)
        away.tell { $0.check($1) }
        away.happened(.failed(message: "refused"))
        #expect(away.words == ["failed gateway", "done"])
        let silent = MachineStage(check: Self.check)
        silent.tell { $0.check($1) }
        silent.happened(.opened)
        silent.pass()
        #expect(silent.words.contains("failed gateway") && silent.words.last == "done")
    }
}
