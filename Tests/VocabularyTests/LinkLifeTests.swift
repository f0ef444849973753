import Testing
import Vocabulary

@Suite("The life of a link")
struct LinkLifeTests {
    /// A link in seconds, whose back-off has no jitter.
    private final class Link {
        private struct Middle: RandomNumberGenerator {
            mutating func next() -> UInt64 { 1 << 63 }
        }

        var life = LinkLife<String, Int>()
        private var random = Middle()

        static func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }

        /// Dialled at 0, open at 1, live at 2.
        static func live() -> Link {
            let link = Link()
            link.dial(0)
            _ = link.opened(1)
            link.greeted(2)
            return link
        }

        var deadline: Double? { (life.nextDeadline ?? life.nextSilence).map { ($0 - .zero).seconds } }

        func dial(_ seconds: Double) { life.dial(at: Self.at(seconds)) }
        func opened(_ seconds: Double) -> Bool { life.opened(awaiting: "challenge", at: Self.at(seconds)) }
        func greeted(_ seconds: Double) {
            life.greeted(7, silence: .seconds(60), at: Self.at(seconds), read: Self.at(seconds))
        }
        func heard(_ seconds: Double) -> Bool { life.heard(read: Self.at(seconds)) }
        func addsOne() -> Int? {
            life.withLive {
                $0 += 1
                return $0
            }
        }
        func lose(_ reason: String, _ redial: Redial, _ seconds: Double) -> Int? {
            life.lose(reason, redial, at: Self.at(seconds))
        }
        func lostAndSettled(_ redial: Redial, _ seconds: Double) -> String {
            _ = lose("gone", redial, seconds)
            return settle(seconds)
        }
        func settle(_ seconds: Double) -> String {
            switch life.settle(at: Self.at(seconds), using: &random) {
            case .dial(let reason): "dial: \(reason)"
            case .wait(let reason, let until): "\((until - Self.at(seconds)).seconds): \(reason)"
            case nil: "nothing"
            }
        }
        func due(_ seconds: Double, read: Double? = nil) -> String {
            switch life.due(at: Self.at(seconds), read: Self.at(read ?? seconds)) {
            case .unopened: "unopened"
            case .ungreeted(let awaited): "no \(awaited)"
            case .silent: "silent"
            case .redial: "redial"
            case nil: "nothing"
            }
        }
        func noticesSleep(_ seconds: Double, wall: Int64, due: Double? = nil) -> Bool {
            life.noticesSleep(at: Self.at(seconds), wallMilliseconds: wall * 1_000, due: due.map { Self.at($0) })
        }
        func hearsOfSleep(_ seconds: Double) -> Bool { life.hearsOfSleep(at: Self.at(seconds)) }
        func wokeUp() -> Bool { life.wokeUp() }
    }

    @Test("each step of the way up has its time limit")
    func steps() {
        let link = Link()
        #expect(link.deadline == nil)
        link.dial(0)
        #expect(link.deadline == 30)
        #expect(link.due(29) == "nothing")
        #expect(link.due(30) == "unopened")
        #expect(!link.heard(1))
        #expect(link.opened(1))
        #expect(!link.opened(2))
        #expect(link.deadline == 16)
        #expect(link.due(16) == "no challenge")
        link.life.awaits("hello", at: Link.at(3))
        #expect(link.due(18) == "no hello")
        link.greeted(4)
        #expect(link.life.live == 7)
        #expect(link.deadline == 64)
    }

    @Test("silence is a loss, by the clock that stands while nothing is read")
    func silence() {
        let link = Link.live()
        #expect(link.heard(10))
        #expect(link.due(69) == "nothing")
        #expect(link.due(70) == "silent")
        #expect(link.life.nextDeadline == nil && link.life.nextSilence == Link.at(70))
        #expect(link.due(500, read: 69) == "nothing")
        #expect(link.due(500, read: 70) == "silent")
    }

    @Test("a loss hands back what was true while the link was live, once")
    func loss() {
        let link = Link.live()
        #expect(link.addsOne() == 8)
        #expect(link.lose("gone", .byBackOff, 5) == 8)
        #expect(link.lose("gone again", .byBackOff, 5) == nil)
        #expect(link.addsOne() == nil)
        #expect(!link.life.hasSocket)
    }

    @Test("the back-off grows with each try, and begins anew after a link that held for a minute")
    func backOff() {
        let link = Link()
        for seconds in [1.0, 2, 4, 8, 16, 30, 30] {
            #expect(link.lostAndSettled(.byBackOff, 0) == "\(seconds): gone")
            #expect(link.due(seconds) == "redial")
        }
        link.dial(100)
        _ = link.opened(100)
        link.greeted(100)
        #expect(link.lostAndSettled(.byBackOff, 160) == "1.0: gone")
        #expect(link.settle(160) == "nothing")
    }

    @Test(
        "each policy has its delay",
        arguments: [
            (.after(.zero), "0.25: gone"), (.after(.seconds(5)), "5.0: gone"), (.notBefore(.seconds(5)), "5.0: gone"),
            (.notBefore(.zero), "1.0: gone"), (.atOnce, "dial: gone"),
        ] as [(Redial, String)])
    func policies(redial: Redial, next: String) { #expect(Link().lostAndSettled(redial, 0) == next) }

    @Test("what the far side asked for does not grow the back-off, where only a person can help it grows on")
    func growth() {
        let link = Link()
        _ = link.lostAndSettled(.after(.seconds(9)), 0)
        #expect(link.lostAndSettled(.byBackOff, 0) == "1.0: gone")
        for _ in 1...5 { _ = link.lostAndSettled(.byLongBackOff, 0) }
        #expect(link.lostAndSettled(.byLongBackOff, 0) == "64.0: gone")
    }

    @Test("what was due while there was no link is no sign of a sleep, and what is late on the live one is")
    func dueBefore() {
        let link = Link()
        link.dial(90)
        #expect(link.opened(91))
        link.greeted(92)
        #expect(!link.noticesSleep(93, wall: 93, due: 20))
        #expect(!link.noticesSleep(101, wall: 101, due: 20))
        #expect(link.noticesSleep(110, wall: 110, due: 95))
        // A retry that comes late shows the sleep as well.
        let waiting = Link.live()
        _ = waiting.lostAndSettled(.after(.seconds(10)), 10)
        #expect(waiting.noticesSleep(40, wall: 40, due: 20))
    }

    @Test("after a sleep a socket is dead, and a link that waits is tried at once")
    func afterSleep() {
        let link = Link.live()
        #expect(!link.noticesSleep(3, wall: 1))
        #expect(link.noticesSleep(4, wall: 60))
        #expect(link.life.wallMilliseconds == 60_000)
        #expect(!link.hearsOfSleep(5))
        #expect(link.wokeUp())
        _ = link.lostAndSettled(.byBackOff, 5)
        #expect(link.hearsOfSleep(20))
        #expect(!link.wokeUp())
        #expect(link.settle(20) == "dial: the machine slept")
    }
}
