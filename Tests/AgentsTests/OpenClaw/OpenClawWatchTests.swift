import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("Watching an OpenClaw link")
struct OpenClawWatchTests {
    private typealias Talk = OpenClawConversation

    @Test("two tick intervals of silence end the link; any frame counts as life")
    func silence() {
        let talk = Talk()
        talk.goLive()
        for id in talk.sent.map(\.id) { talk.answer(id: id, "{}") }
        talk.pass(59)
        talk.event("tick", "{}")
        talk.pass(59)
        #expect(talk.closeCodes == [])
        talk.pass(1)
        #expect(talk.closeCodes == [4000])
        #expect(talk.observations.last == .linkLost)
        #expect(talk.wait == 1)
    }

    @Test("the back-off doubles to thirty seconds, and only a link that held for a minute resets it")
    func backOff() {
        let talk = Talk()
        talk.start()
        var waits: [Double] = []
        for _ in 0..<7 {
            talk.fail("connection refused")
            waits.append(talk.wait ?? 0)
            talk.pass(31)
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30])
        talk.goLive()
        talk.pass(5)
        talk.close(1006)
        #expect(talk.wait == 30)
        talk.pass(31)
        talk.goLive()
        talk.pass(50)
        talk.event("tick", "{}")
        talk.pass(11)
        talk.close(1006)
        #expect(talk.wait == 1)
    }

    @Test("a run that was silent during a long outage is looked for, and the link that is back stays")
    func longOutage() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.close(1006)
        talk.pass(90)
        talk.goLive()
        talk.clear()
        talk.pass(5)
        #expect(!talk.observations.contains(.linkLost))
        #expect(talk.closeCodes == [])
    }

    @Test("a timer that comes far too late means that the machine slept: a new link at once")
    func slept() {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        talk.pass(300, asleep: true)
        #expect(talk.closeCodes == [4000])
        #expect(talk.observations == [.linkLost])
        #expect(talk.dials == 1)
    }

    @Test("a clock that stood still in sleep is found out by the wall clock")
    func stoodStill() {
        let talk = Talk()
        talk.goLive()
        talk.pass(1, asleep: true)
        talk.clear()
        talk.wall += 3_600_000
        talk.pass(1, asleep: true)
        #expect(talk.dials == 1)
    }

    @Test("sleep while waiting for the next try ends the wait")
    func sleptWhileWaiting() {
        let talk = Talk()
        talk.start()
        talk.fail("no network")
        talk.pass(100, asleep: true)
        #expect(talk.dials == 2)
    }

    @Test(
        "each close of a live link has its own delay",
        arguments: [
            (1000, "", 1.0), (1006, "", 1), (1008, "slow consumer", 1), (1012, "service restart", 1), (1013, "", 2),
            (1002, "", 1),
        ])
    func closes(_ code: Int, _ reason: String, _ seconds: Double) {
        let talk = Talk()
        talk.goLive()
        talk.close(code, reason)
        #expect(talk.observations.last == .linkLost)
        #expect(talk.wait == seconds)
    }

    @Test("a gateway that says when it is back is called then")
    func shutdown() {
        let talk = Talk()
        talk.goLive()
        talk.event("shutdown", #"{"reason":"restart","restartExpectedMs":4500}"#)
        talk.close(1012, "service restart")
        #expect(talk.wait == 4.5)
    }

    @Test("a hole in the numbers asks for the open runs, without a new link", arguments: [GatewayEra.e1, .e3])
    func hole(_ era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        talk.event("tick", "{}", seq: 1)
        talk.event("tick", "{}", seq: 2)
        #expect(talk.methods == [])
        talk.event("tick", "{}", seq: 5)
        // In E1 one counter serves all clients, so holes mean nothing.
        #expect(
            talk.methods == (era == .e1 ? [] : ["exec.approval.list", "plugin.approval.list", "chat.history"]))
        #expect(talk.notes.contains(.framesLost(2)) == (era != .e1))
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        talk.clear()
        talk.event("tick", "{}", seq: 1)
        #expect(talk.methods == [])
    }

    @Test("a run that is quiet for a minute is looked up, and its end is told as one")
    func quiet() {
        let talk = Talk(era: .e4)
        talk.goLiveWithRun()
        talk.pass(50)
        talk.event("agent", #"{"runId":"r1","seq":9,"stream":"thinking","data":{"text":"x"}}"#)
        talk.pass(50)
        talk.event("tick", "{}")
        #expect(talk.methods == [])
        talk.pass(10)
        #expect(talk.methods == ["chat.history"])
        talk.answer(
            "chat.history",
            Talk.history(
                [Talk.row("user", "Hello?", key: "r1"), Talk.row("assistant", "Lost and found.")],
                more: #","sessionInfo":{"activeRunIds":[]}"#))
        #expect(talk.observations.last == .said("r1", .finished(RunEnd(text: "Lost and found."))))
        talk.clear()
        talk.pass(59)
        talk.event("tick", "{}")
        talk.pass(59)
        #expect(talk.methods == [])
    }

    @Test("what is unknown is counted, told once a minute, and harms nothing")
    func unknown() {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        talk.event("brand.new", "{}")
        talk.event("brand.newer", "{}")
        talk.receive("no json")
        talk.receive(#"{"type":"res","id":"nobody","ok":true}"#)
        talk.receive(#"{"type":"event","event":"agent","payload":{"runId":"r","stream":"new","data":{}}}"#)
        let tallies = talk.notes.count { if case .unknown = $0 { true } else { false } }
        #expect(tallies == 1)
        #expect(talk.session.unknown.malformed == 1)
        #expect(talk.session.unknown.counts["event brand.new"] == 1)
        talk.pass(59)
        talk.event("tick", "{}")
        talk.pass(2)
        talk.event("tick", "{}")
        #expect(talk.notes.count { if case .unknown = $0 { true } else { false } } == 2)
    }

    @Test("frames and closes that come when none is expected change nothing")
    func late() {
        let talk = Talk()
        talk.close(1006)
        talk.receive("{}")
        talk.fail("x")
        talk.refuse(500)
        talk.open()
        #expect(talk.orders == [])
        talk.goLive()
        talk.clear()
        talk.shutDown()
        #expect(talk.closeCodes == [1000])
        #expect(talk.observations == [.linkLost])
        talk.clear()
        talk.close(1000)
        talk.pass(3_600)
        #expect(talk.orders == [])
        talk.start()
        #expect(talk.dials == 1)
    }

    @Test("thousands of damaged frames crash nothing")
    func damaged() {
        let talk = Talk(era: .e4)
        talk.goLiveWithRun()
        var random = Damage()
        let frames = [
            talk.hello, #"{"type":"res","id":"b1-5","ok":true,"payload":{"runId":"r1","status":"started"}}"#,
            Talk.history([Talk.row("user", "x", key: "r1"), Talk.row("assistant", "y", mark: #""id":"m""#)]),
            #"{"type":"event","event":"chat","payload":{"runId":"r1","state":"final","message":{"content":"x"}},"seq":7}"#,
        ]
        for _ in 0..<2_000 {
            var bytes = Array(frames[Int(random.next() % UInt64(frames.count))].utf8)
            bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            talk.receive(String(decoding: bytes, as: UTF8.self))
        }
        #expect(talk.session.unknown.malformed > 0)
    }
}

private struct Damage {
    private var state: UInt64 = 7
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 16
    }
}
