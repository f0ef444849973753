import BridgeCore
import BridgeService
import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite("Notices of a live connection")
struct NoticeTests {
    private static let scripts = [
        "Hello?": GatewayScript((20, .says("Hello ")), (200, .says("there.")), (50, .finishes)),
        "Break?": GatewayScript((20, .says("Hm. ")), (200, .fails("overloaded"))),
        "May I?": GatewayScript(
            (20, .says("May I? ")), (60, .callsTool(id: "t1", command: "reboot")),
            (10, .asksApproval(id: "a1", command: "reboot")), (100, .toolReturns(id: "t1", output: "done")),
            (100, .says("Done.")), (50, .finishes)),
    ]

    private static func world(seed: UInt64 = 1, seals: Bool = false) -> LiveWorld {
        let world = LiveWorld(.e4, scripts: scripts, seed: seed)
        var settings = NoticeSettings()
        (settings.waiting, settings.long, settings.presence) = (.seconds(2), .zero, .zero)
        world.noticeSettings = settings
        if seals {
            world.seals = true
            world.sealing.pairedAt = world.time.wallMilliseconds
        }
        return world
    }

    private static func text(_ name: String, _ body: String) -> String? {
        let parts = body.split(separator: "\"\(name)\":\"", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? parts[1].split(separator: "\"").first.map(String.init) : nil
    }

    private static func events(_ world: LiveWorld) -> [String] {
        world.notices.got.compactMap { text("event", $0.body) }
    }

    @Test("a run that ended and one that failed have a notice with the first words of their message")
    func ends() {
        let world = Self.world()
        world.start()
        world.writes("Hello?", after: .milliseconds(200))
        world.writes("Break?", chat: 1, after: .milliseconds(300))
        world.run(atLeast: .seconds(20))
        #expect(Self.events(world).sorted() == ["ended", "failed"])
        let ended = world.notices.got.first { $0.body.contains("ended") }?.body ?? ""
        #expect(
            ended.hasPrefix(#"{"id":""#) && ended.contains(#""connection":"default","agent":"openclaw","host":"world""#)
        )
        #expect(ended.contains(#""chat":"Hello?","ts":"2026-02-02T"#))
        #expect(ended.contains(#""title":"openclaw: a run ended","message":"“Hello?”","priority":3"#))
        #expect(world.journal.notices.isEmpty)
        let told = world.events.count { if case .notice(_, .told) = $0 { true } else { false } }
        #expect(told == 2)
        world.end()
    }

    @Test("an ask has one while it waits, none where it was answered in time, and none again in the next process")
    func asks() {
        for (wait, count) in [(Int64(1), 0), (6, 1)] {
            let world = Self.world()
            world.decisionTime = .seconds(wait)
            world.start()
            world.writes("May I?", after: .milliseconds(200))
            world.time.after(.milliseconds(4_500)) { world.restarts(down: .milliseconds(100)) }
            world.run(atLeast: .seconds(20))
            #expect(Self.events(world) == Array(repeating: "waiting", count: count) + ["ended"])
            let body = world.notices.got.first?.body ?? ""
            #expect(body.contains(#""chat":"May I?","wants":"reboot","ts":"#) == (count == 1), "\(body)")
            #expect(world.journal.notices.isEmpty)
            world.end()
        }
    }

    @Test("the end of a run has its notice, whenever the process dies", arguments: 0..<10)
    func kills(part: Int) {
        let whole = Self.world()
        whole.start()
        whole.writes("Hello?", after: .milliseconds(200))
        whole.run()
        let steps = whole.time.steps
        whole.end()
        for step in stride(from: 1 + part, through: steps, by: 10) {
            let world = Self.world(seed: UInt64(step))
            world.notices.mood = { [notices = world.notices] random in
                notices.got.isEmpty && random.happens(0.5) ? .refuses : .takes
            }
            world.start()
            world.writes("Hello?", after: .milliseconds(200))
            world.run(killAfter: step, atLeast: .seconds(40))
            let ids = Set(world.notices.got.filter(\.isTaken).compactMap { Self.text("id", $0.body) })
            #expect(ids.count == 1 && Set(Self.events(world)) == ["ended"], "killed after \(step) steps")
            #expect(world.journal.notices.isEmpty && world.notices.mostUnderWay == 1)
            world.end()
        }
    }

    @Test("a sealed chat's words are in no notice")
    func sealed() {
        let world = Self.world(seals: true)
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(atLeast: .seconds(20))
        #expect(Self.events(world) == ["ended"])
        let body = world.notices.got.first?.body ?? ""
        #expect(body.contains(#""sealed":true"#) && !body.contains("Hello") && !body.contains(#""chat""#))
        #expect(body.contains(#""title":"A sealed chat","message":"A run has ended.""#))
        world.end()
    }

    @Test("the phone is answered while the recipient holds every notice")
    func hangs() {
        let world = Self.world()
        world.notices.mood = { _ in .hangs }
        world.start()
        for number in 0..<5 { world.writes("Hello?", chat: number, after: .milliseconds(200 * Int64(number + 1))) }
        world.run()
        #expect(world.time.now < .zero + .seconds(30) && world.openTurns == 0)
        #expect(world.notices.mostUnderWay == 1)
        world.end()
    }
}
