import BridgeCore
import BridgeService
import Locking
import Metrics
import RelayProtocol
import Testing
import Vocabulary

@Suite("The page of metrics")
struct MetricFiguresTests {
    private let name = ConnectionName("home")
    private let meter = Meter(connections: [ConnectionName("home")])

    private func page(_ change: (inout MetricFigures) -> Void = { _ in }) -> [Substring] {
        var figures = MetricFigures(version: "1.2.3")
        var connection = MetricFigures.Connection(name)
        connection.bridge = Bridge(settings: BridgeSettings()).figures(at: .zero)
        figures.connections = [connection]
        change(&figures)
        return figures.page(meter).split(separator: "\n")
    }

    private func value(_ sample: String, _ page: [Substring]) -> Substring? {
        page.first { $0.hasPrefix("\(sample) ") }?.dropFirst(sample.count + 1)
    }

    @Test("it has every metric of the list, in the order of the list, and no other")
    func complete() {
        let types = page().filter { $0.hasPrefix("# TYPE ") }
        #expect(types.map(String.init) == Metric.all.map { "# TYPE \($0.name) \($0.kind.rawValue)" })
    }

    @Test("figures are those of the moment")
    func figures() {
        let page = page { figures in
            figures.connections[0].relayIsUp = true
            figures.connections[0].bridge?.levels = [.delta: 12.5, .msg: 3]
            figures.connections[0].bridge?.waitingPosts = 4
            figures.connections[0].bridge?.longestWait = .milliseconds(2_500)
            let ask = OpenAsk(
                chat: SessionID("ses_secret"), since: .zero, cards: 2, ended: 2, until: nil, isOnPhone: false)
            var shown = ask
            (shown.ended, shown.isOnPhone) = (1, true)
            var question = ask
            (question.cards, question.ended) = (0, 0)
            figures.connections[0].bridge?.asks = [ask, shown, question]
            (figures.agentProcesses, figures.journalBytes, figures.logLinesDropped) = (3, 4_096, 7)
            (figures.heldBytes, figures.residentBytes) = (100, 20 << 20)
        }
        #expect(value(#"sophon_bridge_build_info{version="1.2.3"}"#, page) == "1")
        #expect(value(#"sophon_bridge_link_up{connection="home",side="relay"}"#, page) == "1")
        #expect(value(#"sophon_bridge_link_up{connection="home",side="agent"}"#, page) == "0")
        #expect(value(#"sophon_bridge_bucket_level{connection="home",bucket="delta"}"#, page) == "12.5")
        #expect(value(#"sophon_bridge_lane_waiting{connection="home"}"#, page) == "4")
        #expect(value(#"sophon_bridge_lane_oldest_seconds{connection="home"}"#, page) == "2.5")
        #expect(value("sophon_bridge_approvals_open", page) == "2")
        #expect(value("sophon_bridge_questions_open", page) == "1")
        #expect(value("sophon_bridge_asks_unanswered", page) == "1")
        #expect(value("sophon_bridge_agent_processes", page) == "3")
        #expect(value("sophon_bridge_journal_bytes", page) == "4096")
        #expect(value("sophon_bridge_log_dropped_total", page) == "7")
        #expect(value("sophon_bridge_held_bytes", page) == "100")
        #expect(value("process_resident_memory_bytes", page) == "20971520")
        #expect(!page.contains { $0.contains("ses_secret") })
    }

    @Test("events are counted by connection and outcome")
    func events() {
        meter.tell(.turnEnded(name, TurnID("int_1"), .answered))
        meter.tell(.turnEnded(name, TurnID("int_2"), .answered))
        meter.tell(.turnEnded(name, TurnID("int_3"), .neverSent))
        meter.tell(.agentConnected(name, version: "1", scopes: nil, isReconnect: false))
        meter.tell(.agentConnected(name, version: "1", scopes: nil, isReconnect: true))
        meter.tell(.relayConnected(name, installation: nil, isReconnect: true))
        meter.tell(.notice(name, .told(id: "n", .waiting, tries: 2)))
        meter.tell(.notice(name, .failed(id: "n", .failed, reason: "x", retryIn: .zero)))
        meter.tell(.notice(name, .dropped(id: "n", .failed, tries: 3, reason: "x")))
        meter.committed(in: .milliseconds(3))
        let page = page()
        #expect(value(#"sophon_bridge_turns_total{connection="home",outcome="answered"}"#, page) == "2")
        #expect(value(#"sophon_bridge_turns_total{connection="home",outcome="neverSent"}"#, page) == "1")
        #expect(value(#"sophon_bridge_turns_total{connection="home",outcome="lost"}"#, page) == "0")
        #expect(value(#"sophon_bridge_reconnects_total{connection="home",side="agent"}"#, page) == "1")
        #expect(value(#"sophon_bridge_reconnects_total{connection="home",side="relay"}"#, page) == "1")
        #expect(value(#"sophon_bridge_notify_total{event="waiting",outcome="told"}"#, page) == "1")
        #expect(value(#"sophon_bridge_notify_total{event="failed",outcome="failed"}"#, page) == "1")
        #expect(value(#"sophon_bridge_notify_total{event="failed",outcome="dropped"}"#, page) == "1")
        #expect(value(#"sophon_bridge_journal_commit_seconds_bucket{le="0.0025"}"#, page) == "0")
        #expect(value(#"sophon_bridge_journal_commit_seconds_bucket{le="0.005"}"#, page) == "1")
        #expect(value("sophon_bridge_journal_commit_seconds_count", page) == "1")
    }

    private struct Answering: HTTPClient {
        let result: Result<HTTPResponse, HTTPFailure>

        func send(
            _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
        ) { completion(result) }
    }

    private func call(_ path: String, _ status: Int?, _ body: String = "") {
        let result: Result<HTTPResponse, HTTPFailure> =
            status.map { .success(HTTPResponse(status: $0, headers: [], body: Array(body.utf8))) }
            ?? .failure(HTTPFailure(.timedOut, "late", mayHaveBeenApplied: true))
        let client = MeteredClient(Answering(result: result), meter, of: name)
        let isAnswered = Locked(false)
        client.send(HTTPRequest(method: "POST", url: "http://relay\(path)", headers: [], body: [], timeout: .zero)) {
            _ in
            isAnswered.withLock { $0 = true }
        }
        #expect(isAnswered.withLock { $0 })
    }

    @Test("calls are counted by method and outcome, refusals by the relay's code")
    func calls() {
        func refusal(_ code: String) -> String { #"{"ok":false,"error":{"code":"\#(code)","message":"m"}}"# }
        call("/v1/bridge/sendMessage", 200, #"{"ok":true,"result":{"message_id":"m1"}}"#)
        call("/v1/bridge/sendMessage", 429, refusal("rate_limited"))
        call("/v1/bridge/sendMessage", 400, refusal("validation_failed"))
        call("/v1/bridge/sendMessage", 418, refusal("teapot"))
        call("/v1/bridge/sendMessage", 502, "<html>")
        call("/v1/bridge/sendMessage", nil)
        call("/v1/bridge/unheardOf", nil)
        call("/v1/bridge/sessions/ses_1/recipients", 200, #"{"ok":true,"result":{}}"#)
        let page = page()
        func count(_ method: String, _ outcome: String) -> Substring? {
            let labels = #"connection="home",method="\#(method)",outcome="\#(outcome)""#
            return value("sophon_bridge_relay_calls_total{\(labels)}", page)
        }
        func refusals(_ code: String) -> Substring? {
            value(#"sophon_bridge_relay_refusals_total{connection="home",code="\#(code)"}"#, page)
        }
        #expect(count("sendMessage", "delivered") == "1" && count("sendMessage", "refused") == "3")
        #expect(count("sendMessage", "unknown") == "2" && count("other", "unknown") == "1")
        #expect(count("recipients", "delivered") == "1")
        #expect(refusals("rate_limited") == "1" && refusals("invalid_request") == "1" && refusals("other") == "1")
        #expect(!page.contains { $0.contains("teapot") || $0.contains("ses_1") })
    }

    @Test(
        "every method of the encoder has its own value",
        arguments: [
            RelayCall(.open, to: .relay, key: IdempotencyKey("k")), .newSession(source: nil),
            RelayCall(.text("x"), to: .relay, key: IdempotencyKey("k")),
        ])
    func methods(call: RelayCall) {
        let path = RelayEncoder.path(of: call)
        self.call(path, nil)
        let method = path.split(separator: "/").last ?? ""
        let sample = #"sophon_bridge_relay_calls_total{connection="home",method="\#(method)",outcome="unknown"}"#
        #expect(value(sample, page()) == "1")
    }
}
