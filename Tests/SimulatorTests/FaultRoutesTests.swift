import FoundationEssentials
import Locking
import RelayRules
import Simulator
import Testing
import WireTesting

/// Faults that are more than an answer, over real sockets, and their description in the document.
@Suite struct FaultRoutesTests {
    /// The table of kinds in `docs/SIMULATOR.md` has the rows of the code.
    @Test func theDocumentHasTheTableOfKinds() throws {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let text = String(decoding: try Data(contentsOf: URL(filePath: root + "/docs/SIMULATOR.md")), as: UTF8.self)
        let faults = try #require(text.split(separator: "\n## ").first { $0.hasPrefix("Faults\n") })
        let rows = faults.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        let expected = FaultKind.all.map {
            "| `\($0.name)` | \($0.target.rawValue) | \($0.sentence) | \($0.isBearable ? "yes" : "") |"
        }
        #expect(rows == expected, "the table of docs/SIMULATOR.md should be:\n\(expected.joined(separator: "\n"))")
    }

    @Test func whatIsPlannedIsListedWithTheKindsThereAre() throws {
        let stage = try Stage()
        #expect(try stage.user("POST", "/v1/simulator/faults", #"{"kind":"drop","count":2}"#).status == 200)
        let listed = try stage.user("GET", "/v1/simulator/faults").text
        #expect(listed.contains(#""faults":[{"kind":"drop","left":2}]"#))
        #expect(listed.contains(#"{"kind":"grant_never","strikes":"grant","what":"#))
    }

    @Test func theHealthCheckMeetsTheFaultThatNamesItAndNoOther() throws {
        let stage = try Stage()
        #expect(try stage.user("POST", "/v1/simulator/faults", #"{"kind":"500"}"#).status == 200)
        #expect(try stage.wire().exchange("GET", "/healthz").status == 200)
        #expect(try stage.user("POST", "/v1/simulator/faults", #"{"kind":"503","method":"healthz"}"#).status == 200)
        #expect(try stage.wire().exchange("GET", "/healthz").status == 503)
        #expect(try stage.wire().exchange("GET", "/healthz").status == 200)
    }

    @Test func phonesThatAreAwayAreCutAndFindAGap() throws {
        let stage = try Stage()
        let phone = try stage.phone()
        stage.say("seen")
        #expect(try phone.text(through: "seen").contains("id: 3"))
        #expect(try stage.user("POST", "/v1/simulator/phones/away").status == 200)
        #expect(phone.end().failure != .timedOut)
        #expect(stage.simulator.readerCount == 0)
        let again = try stage.phone(after: "2")
        stage.say("later")
        #expect(try !again.text(through: "later").contains("seen"), "the ring was emptied")
    }

    @Test func aRestartRefusesForAWhileAndComesBackOnItsPortWithItsState() throws {
        let stage = try Stage()
        let port = stage.simulator.port
        let bridge = BridgeSide(stage)
        try bridge.opened()
        #expect(try bridge.nextType() == "ready")
        #expect(try bridge.nextType() == "1 session.message")
        let phone = try stage.phone()
        #expect(
            try stage.user("POST", "/v1/simulator/faults", #"{"kind":"restart","milliseconds":5000}"#).status == 200)
        let sent = stage.say("hello")
        #expect(throws: Wire.Failure.self) {
            try stage.bridge("sendMessage", stage.placeholder(sent, key: "k-open"))
        }
        stage.clock.advance(milliseconds: 0)
        #expect(throws: Wire.Failure.cannotConnect) { try Wire(port: port) }
        #expect(phone.end().failure != .timedOut)
        while try bridge.next() != "lost" {}
        stage.clock.advance(milliseconds: 5_000)
        #expect(stage.simulator.port == port)
        let again = try stage.bridge("sendMessage", stage.placeholder(sent, key: "k-open"))
        #expect(again.text.contains(#""idempotent":true"#), "the write took effect before it went down")
        let second = BridgeSide(stage)
        try second.opened()
        #expect(try second.nextType() == "ready")
        #expect(try second.nextType() == "1 session.message", "it was not acknowledged")
        #expect(stage.simulator.breaches.isEmpty)
    }

    @Test func aPortThatAnotherProgramTookIsSaidAndTakenBackWhenItIsFree() throws {
        let said = Locked<[String]>([])
        let (stage, other, port) = try relayWithoutItsPort(said)
        stage.clock.advance(milliseconds: 5_000)
        #expect(said.withLock { $0 } == [])
        stage.clock.advance(milliseconds: 60_000)
        #expect(said.withLock { $0.count } == 1, "once")
        #expect(said.withLock { $0.first }?.contains("127.0.0.1:\(port)") == true)
        other.stop()
        stage.clock.advance(milliseconds: 1_000)
        #expect(stage.simulator.port == port)
        #expect(said.withLock { $0.last } == "the relay is up again on http://127.0.0.1:\(port)")
        #expect(try stage.user("GET", "/v1/me").status == 200)
    }

    /// A relay that restarts, and another program on its port. Parallel tests take free ports too, and may be faster:
    /// ten attempts.
    private func relayWithoutItsPort(
        _ said: Locked<[String]>
    ) throws -> (stage: Stage, other: RelaySimulator, port: Int) {
        for _ in 0..<10 {
            let stage = try Stage { settings in
                settings.trouble = { sentence in said.withLock { $0.append(sentence) } }
            }
            let port = stage.simulator.port
            #expect(try stage.user("POST", "/v1/simulator/restart", #"{"milliseconds":1000}"#).status == 200)
            stage.clock.advance(milliseconds: 0)
            let other = RelaySimulator(settings: settings(port: port), clock: ManualClock().port)
            if (try? other.start()) != nil { return (stage, other, port) }
        }
        throw Wire.Failure.cannotConnect
    }

    private func settings(port: Int) -> RelaySimulator.Settings {
        var settings = RelaySimulator.Settings()
        settings.listen = "127.0.0.1:\(port)"
        return settings
    }
}
